package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Status is the agent's state at one moment, as /api/v1/status gives it.
type Status struct {
	At     time.Time      `json:"at"`
	BootID string         `json:"bootID"`
	Mode   remediate.Mode `json:"mode"`
	// Actuator is who is told, as the configuration calls it.
	Actuator string `json:"actuator,omitempty"`
	// Node is what the Node object shall say; nil while nothing is known yet.
	Node *remediate.Desired `json:"node,omitempty"`
	// Closed says that the node took no new work when it was looked at last, whoever
	// wants that.
	Closed    bool                 `json:"closed,omitempty"`
	Incidents []remediate.Incident `json:"incidents"`
	History   []remediate.Incident `json:"history"`
	// Diagnoses are those that open incidents ask for.
	Diagnoses []diag.Request  `json:"diagnoses"`
	Diagnosis DiagnosisStatus `json:"diagnosis,omitzero"`
	// Serving is nil where nobody asks serving engines.
	Serving *ServingStatus `json:"serving,omitempty"`
	// Workers are those of disaggregated serving.
	Workers   []WorkerStatus  `json:"workers,omitempty"`
	GPUs      []inventory.GPU `json:"gpus"`
	KernelLog kernlog.Hearing `json:"kernelLog"`
	Driver    DriverStatus    `json:"driver"`
	DCGM      EngineStatus    `json:"dcgm"`
	// Services is what cannot be seen of the services of NVLink.
	Services ServicesStatus `json:"services,omitzero"`
	// Training is what of the NVLinks is not up and is given its time.
	Training []fault.Training `json:"training,omitempty"`
	// Offered is what the device plugin makes of the GPUs.
	Offered remediate.Offered `json:"offered,omitzero"`
	// Store is why nothing can be written down; empty when it can.
	Store string `json:"store,omitempty"`
	// Missing are the programs that the configuration names and that cannot be run.
	Missing []MissingProgram `json:"missing,omitempty"`
	// Evidence is why none can be written; empty when it can, or none is kept.
	Evidence string `json:"evidence,omitempty"`
	// Replacements are the parts that open incidents ask for.
	Replacements []evidence.Replacement `json:"replacements,omitempty"`
	// API is the actuator's present trouble; nil when it has none.
	API *Trouble `json:"api,omitempty"`
	// Untold is why events were not taken the last time; nil where they were.
	Untold *Trouble `json:"untold,omitempty"`
	// Group is what was seen of the node's group when it was asked last; nil where it
	// was not.
	Group *fleet.Survey `json:"group,omitempty"`
	// Fences are the devices that are fenced by themselves, or shall be.
	Fences []remediate.Fence `json:"fences,omitempty"`
	// Capacity is why no guard looks at the load; empty where one does.
	Capacity string `json:"capacity,omitempty"`
	// Waiting counts the events that have not been told yet.
	Waiting int `json:"waiting"`
}

// ServicesStatus says why the services of NVLink cannot be seen, or not in full; empty
// where they are, or nobody looks: at IMEX only while it may be in use.
type ServicesStatus struct {
	FabricManager string `json:"fabricManager,omitempty"`
	IMEX          string `json:"imex,omitempty"`
}

// DriverStatus says how the driver is asked.
type DriverStatus struct {
	Enabled  bool      `json:"enabled"`
	Answered time.Time `json:"answered,omitzero"`
	// Polls counts its whole answers since the start.
	Polls int    `json:"polls"`
	Blind string `json:"blind,omitempty"`
	// Gpuless says that it need not answer: the PCI bus lists no GPU.
	Gpuless bool `json:"gpuless,omitempty"`
	// Expect is how many GPUs the node must have; 0 where nobody says.
	Expect int `json:"expect,omitempty"`
	// Stuck are the calls that do not return while polls do, each on one GPU or,
	// where no GPU is named, on none.
	Stuck []string `json:"stuck,omitempty"`
	// Failing are the listed GPUs that answer nothing but an error, and which.
	Failing []string `json:"failing,omitempty"`
	// Lacks are the functions that the driver's library does not have.
	Lacks []string `json:"lacks,omitempty"`
}

// Up says whether the driver answers whole polls, for every GPU that it lists. One
// that it calls lost is answered for.
func (d DriverStatus) Up() bool {
	return d.Blind == "" && len(d.Stuck) == 0 && len(d.Failing) == 0 && !d.Answered.IsZero()
}

// Answers says whether the driver can be asked about a GPU at present.
func (d DriverStatus) Answers(uuid string) bool {
	of := func(line string) bool { return strings.Contains(line, uuid) }
	return d.Blind == "" && !d.Answered.IsZero() && !slices.ContainsFunc(d.Stuck, of) && !slices.ContainsFunc(d.Failing, of)
}

// MissingProgram is a program that cannot be run: the setting that names it, and why.
type MissingProgram struct {
	Setting string `json:"setting"`
	Why     string `json:"why"`
}

// Trouble is an error and when it came last.
type Trouble struct {
	Error string    `json:"error"`
	At    time.Time `json:"at"`
}

// show publishes the state for status, which may ask from any goroutine.
func (c *core) show() {
	s := &Status{At: time.Now(), BootID: c.boot, Mode: c.opts.Policy.Mode, Incidents: c.plan.Incidents(), History: c.plan.History(),
		GPUs: c.memory.inventory.GPUs(), Store: c.memory.trouble(), Waiting: len(c.plan.Outbox()),
		Driver: DriverStatus{Enabled: c.opts.Driver != nil, Answered: c.answered, Polls: c.polls, Blind: c.silent,
			Gpuless: c.gpuless && c.silent != "", Expect: c.opts.Judge.Expect, Stuck: c.stuck, Failing: c.failing, Lacks: c.lacks}}
	s.DCGM, s.Offered, s.Diagnosis = c.engine, c.offered, c.showDiagnosis()
	s.Services, s.Training = c.unseen, c.judge.Training()
	s.Group, s.Capacity = c.survey, c.opts.CapacityOff
	if c.opts.Replicas != nil {
		now := *cmp.Or(c.serving, &ServingStatus{Replicas: []serving.Score{}})
		now.Troubles = c.opts.Replicas.Troubles()
		s.Serving = &now
	}
	s.Fences, _ = c.plan.Fences()
	s.Workers = c.workers(s.At)
	s.DCGM.Enabled = c.opts.Engine != nil
	s.Actuator, s.Closed = c.opts.ActuatorName, c.closed
	if d := c.plan.Desired(); c.plan.Ready() && !d.Look {
		s.Node = &d
	}
	s.Diagnoses = []diag.Request{}
	counts := c.judge.Counts()
	for n := range s.Incidents {
		i := &s.Incidents[n]
		i.Waits = c.plan.Waits(s.At, i.Verdict.ID)
		i.Verdict.Count = max(i.Verdict.Count, counts[i.Verdict.ID])
		if r, ok := diag.For(i.Verdict); ok && i.Asks(remediate.StepDiag) {
			s.Diagnoses = append(s.Diagnoses, r)
		}
	}
	s.Replacements = c.replacements(s.Incidents)
	c.shown.Store(s)
}

func (c *core) status() Status {
	s := *c.shown.Load()
	s.KernelLog = c.hearing()
	s.API, s.Untold = c.trouble.Load(), c.untold.Load()
	c.progressing(&s.Diagnosis)
	if c.opts.Missing != nil {
		s.Missing = c.opts.Missing()
	}
	if c.witness != nil {
		if why := c.witness.keep.trouble.Load(); why != nil {
			s.Evidence = *why
		}
	}
	return s
}

// NotReady says which sources do not work, in words; none when all do.
func (s Status) NotReady() []string {
	why := s.KernelLog.Missing()
	switch d := s.Driver; {
	case !d.Enabled || d.Gpuless:
	case d.Blind != "":
		why = append(why, "driver: "+d.Blind)
	case d.Answered.IsZero():
		why = append(why, "driver: has not answered yet")
	default:
		for _, call := range d.Stuck {
			why = append(why, "driver: "+call+" does not return")
		}
		for _, gpu := range d.Failing {
			why = append(why, "driver: "+gpu)
		}
	}
	if s.Store != "" {
		why = append(why, "store: "+s.Store)
	}
	return why
}

// stalled is how long the core may be busy with one thing.
const stalled = 20 * time.Second

// Alive is nil while the core's loop turns.
func (a *Agent) Alive() error {
	beat := time.Unix(0, a.core.beat.Load())
	if quiet := time.Since(beat); quiet > stalled {
		return fmt.Errorf("the core has not turned for %s", quiet.Round(time.Second))
	}
	return nil
}
