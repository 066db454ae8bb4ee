package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/collector/pci"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/fleet"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// tickEvery is how often the core lets time pass.
const tickEvery = time.Second

// message is what sources and actuator say to the core.
type message interface{ isMessage() }

// heard is a batch of kernel records.
type heard struct {
	facts []fault.Observation
	texts []string
	// places are where the witness has the records.
	places []uint64
	// place is that of the record which is read at present.
	place uint64
	mark  kernlog.Bookmark
	at    time.Time
}

// asked is one report of the driver's child, and what the PCI bus listed then.
type asked struct {
	report   nvml.Report
	bus      []pci.Device
	busError error
}

// nodeSeen is what the Node object says.
type nodeSeen struct{ observed remediate.Observed }

// refused is a write that the agent has no right to make.
type refused struct{ why string }

// told are events that have reached the API server.
type told struct{ events []remediate.Event }

func (heard) isMessage()    {}
func (asked) isMessage()    {}
func (nodeSeen) isMessage() {}
func (refused) isMessage()  {}
func (told) isMessage()     {}

// wishes are all that the plan wants of the world at present.
type wishes struct {
	node   remediate.Desired
	events []remediate.Event
	deed   *remediate.Deed
	// watches are the GPUs whose holders are to be known, by a look since a moment.
	watches []fault.Device
	since   time.Time
	// domain is the NVLink domain whose nodes are to be heard, empty for none.
	domain string
	// racked says that the node is in an NVLink domain.
	racked bool
	// lends says that IMEX may be in use, serves that replicas are here.
	lends, serves bool
	asks          []guard.Ask
	// leave is the group's, turn that for a diagnosis by the clock.
	leave, turn *remediate.Leave
	// fences are the devices to be fenced, once that is known.
	fences      []remediate.Fence
	fencesKnown bool
	// marks are what pods shall say of their peers.
	marks map[fault.Workload]string
	// stands are how replicas shall stand, by so many looks.
	stands []serving.Stand
	looks  int
}

// core owns the judge and the plan.
type core struct {
	log     *slog.Logger
	metrics *Metrics
	opts    Options
	inbox   chan message
	judge   *fault.Judge
	plan    *remediate.Plan
	memory  *memory
	witness *witness
	sources remediate.Sources
	// began is the start, answered the driver's last whole answer.
	began, answered time.Time
	// greeted is when the present child had opened the driver, at first the start.
	greeted time.Time
	// polls counts the driver's whole answers.
	polls         int
	hearing       func() kernlog.Hearing
	publish       func(wishes)
	poll, restart func()
	// lines and judgements bound what a flood puts into the log.
	lines, judgements *chatter
	// trouble is the actuator's last, nil when it has none.
	trouble atomic.Pointer[Trouble]
	// untold is why events were not taken the last time, nil where they were.
	untold atomic.Pointer[Trouble]
	// silent is why the driver does not answer at the moment; empty when it does.
	silent string
	// renewed says that the child was started anew since a GPU has answered.
	renewed bool
	// reopened says that this other child has opened the driver.
	reopened bool
	// gpuless says that the PCI bus lists no GPU, busFailed that it could not be
	// read.
	gpuless, busFailed bool
	echoes             echoes
	// engine is how DCGM is asked, health and values what it holds at present.
	engine         EngineStatus
	health, values opinions
	// serving is how the replicas are; nil before they were looked at, looks how often
	// they were.
	serving *ServingStatus
	// company is what was told last of disaggregated serving.
	company serving.Company
	looks   int
	trials  serving.Trials
	asking  atomic.Pointer[asking]
	// fleet is how long requests wait elsewhere.
	fleet compared
	// diagnosis is what the last one said, progress how far that is which is under way.
	// answeredBy is the ID of what Answered is the answer to; toldOf the deed that Last
	// was, where its report is still to come.
	diagnosis  DiagnosisStatus
	answeredBy string
	toldOf     string
	progress   atomic.Pointer[progress]
	// offered is what the device plugin makes of the GPUs.
	offered remediate.Offered
	// readings are what the last poll says of a reset's success, before what the
	// last one before the present reset said.
	readings []host.Reading
	before   before
	// registered says of a GPU, by UUID, whether it has completed its registration at
	// the NVLink fabric, as it was told last.
	registered map[string]bool
	// tiedAt is when it was last looked which GPUs are reset together.
	tiedAt time.Time
	// listedGPUs are the GPUs as the last poll had them.
	listedGPUs atomic.Pointer[[]nvml.GPU]
	// owed waits for what deeds will have to put back to be on disk.
	owed []chan<- error
	// stuck are the calls that do not return while polls do, lacks the functions
	// that the driver's library does not have.
	stuck, lacks []string
	// failing are the GPUs that answer nothing but an error.
	failing []string
	boot    string
	// version is the driver's, empty until it has answered.
	version string
	// noNode says that the API server has no Node of ours.
	noNode bool
	// links is what each GPU said last of its NVLinks.
	links atomic.Pointer[[]nvlink.GPUReport]
	// odd are the neighbours whose summary is none, and why.
	odd map[string]string
	// work is what works on the GPUs, nil before that is known; noWork is why it could
	// not be seen last.
	work   []string
	noWork string
	// alarm rings when the judge's next window ends, which is due.
	alarm *time.Timer
	due   time.Time
	// unseen is what cannot be seen of the services of NVLink.
	unseen ServicesStatus
	// managedAt is when it was last looked whether a fabric manager runs.
	managedAt time.Time
	// survey is what was seen of the group last, nil where it was not asked.
	survey *fleet.Survey
	// closed says that the node took no new work when it was looked at last.
	closed bool
	shown  atomic.Pointer[Status]
	beat   atomic.Int64
}

func newCore(opts Options, boot string) *core {
	c := &core{log: opts.Log, metrics: opts.Metrics, opts: opts, inbox: make(chan message), began: time.Now(), greeted: time.Now(),
		publish: func(wishes) {}, poll: func() {}, restart: func() {},
		lines: newChatter(opts.Log, "the kernel log"), judgements: newChatter(opts.Log, "verdicts"), boot: boot, echoes: newEchoes(), trials: serving.Trials{}, registered: map[string]bool{},
		hearing: func() kernlog.Hearing { return kernlog.Hearing{} }}
	c.links.Store(&[]nvlink.GPUReport{})
	c.alarm = time.NewTimer(time.Hour)
	c.alarm.Stop()
	c.memory = openMemory(opts.StatePath, opts.Log, opts.Metrics)
	c.judge, c.plan = c.memory.restore(opts)
	c.plan.Boot(time.Now(), boot)
	if opts.Evidence != nil {
		c.witness = newWitness(newArchivist(opts.Evidence, opts.Log, opts.Metrics), c.thisNode)
		c.witness.remember(time.Now(), c.plan.History())
	}
	c.verdicts(time.Now(), c.judge.Step(time.Now(), fault.Observation{Fact: fault.Boot{ID: boot}}))
	c.settle(time.Now())
	return c
}

// tell hands a message to the core, unless ctx is done first.
func (c *core) tell(ctx context.Context, m message) {
	select {
	case c.inbox <- m:
	case <-ctx.Done():
	}
}

// run is the core's loop.
func (c *core) run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	defer c.alarm.Stop()
	for c.beat.Store(time.Now().UnixNano()); ; c.beat.Store(time.Now().UnixNano()) {
		select {
		case m := <-c.inbox:
			c.take(time.Now(), m)
		case <-tick.C:
			c.tick(time.Now())
		case <-c.alarm.C:
			c.tick(time.Now())
		case <-ctx.Done():
			c.memory.flush(time.Now(), c.judge, c.plan)
			return
		}
	}
}

// take handles one message.
func (c *core) take(now time.Time, m message) {
	switch m := m.(type) {
	case heard:
		for i, o := range m.facts {
			c.line(now, o, m.texts[i])
			c.witness.line(m.places[i], o.Fact)
			if b, ok := o.Fact.(fault.Boot); ok {
				c.boot = b.ID
				c.plan.Boot(now, b.ID)
			}
			c.verdicts(now, c.judge.Step(now, o))
		}
		c.witness.judged()
		c.memory.mark = m.mark
		if len(m.facts) == 0 {
			return // the place in the log can wait for the next tick
		}
		c.metrics.lineToJudged.Observe(time.Since(m.at).Seconds())
	case asked:
		c.answer(now, m)
	case consulted:
		c.consult(now, m.report)
	case served:
		c.serves(now, m)
	case grouped:
		c.hearGroups(now, m)
	case probed:
		c.probes(now, m.probe)
	case nodeSeen:
		c.offered, c.closed = m.observed.Offered, m.observed.Unschedulable
		c.exists(m.observed)
		c.plan.Node(now, m.observed)
		for _, id := range c.plan.Overruled() {
			c.step(now, fault.Released{ID: id})
		}
	case refused:
		c.plan.Refused(now, m.why)
	case occupied:
		c.plan.Occupied(now, m.occupancy)
	case owes:
		if !c.plan.Owes(now, m.deed, m.undo) {
			m.written <- errCalledOff
			break
		}
		c.owed = append(c.owed, m.written)
	case answered:
		defer close(m.taken) // once what follows from it is published
		if !m.survey.At.IsZero() {
			c.survey = &m.survey
		}
		c.plan.Replied(now, m.answer)
	case fenced:
		c.plan.Fenced(now, m.all)
	case undone:
		c.plan.Undone(now, m.deed)
	case wanted:
		defer c.want(now, m)()
	case over:
		deed := c.plan.Deed()
		c.witness.outcome(now, deed, m.outcome)
		c.ended(now, m.outcome)
		c.diagnosed(now, deed, m.outcome)
	case worked:
		c.busy(m)
	case compared:
		c.compare(m)
	case lent:
		c.imex(now, m)
	case spoken:
		c.spoke(now, m)
	case told:
		c.strike(m.events)
	}
	c.settle(now)
}

// tick lets time pass for the judge and the plan.
func (c *core) tick(now time.Time) {
	c.verdicts(now, c.judge.Tick(now))
	for _, f := range c.echoes.unheard(now) {
		c.log.Warn("an XID that the kernel log does not have", "code", f.(fault.Heard).Event.Code, "pci", f.(fault.Heard).Event.PCI.String())
		c.step(now, f)
	}
	c.plan.Tick(now)
	c.settle(now)
}

// verdicts hands what the judge has changed to the plan, and tells it.
func (c *core) verdicts(now time.Time, vs []fault.Verdict) {
	for _, v := range vs {
		c.metrics.verdict(v)
		c.plan.Verdict(now, v)
		c.witness.verdict(now, v)
		if !c.judgements.allows() {
			continue
		}
		log := c.log
		if len(v.Workloads) > 0 {
			log = log.With("workloads", workloadNames(v.Workloads))
		}
		log.Info("verdict", "id", v.ID, "fault", v.Class, "action", v.Action.String(), "radius", v.Radius.String(),
			"gpus", names(v.GPUs), "affected", len(v.Affected), "hard", v.Hard, "count", v.Count, "root", v.Root, "reason", v.Reason)
	}
}

// exists tells once that the Node is gone, and once that it is back. Somebody may
// remove it at any time, an autoscaler for one: that is no error.
func (c *core) exists(o remediate.Observed) {
	switch {
	case !o.Exists && !c.noNode:
		c.log.Info("the API server has no such Node; the agent goes on, and writes to it when it is there")
	case o.Exists && c.noNode:
		c.log.Info("the Node is there", "uid", o.UID)
	}
	c.noNode = !o.Exists
}

// strike takes events off the outbox, unless they say something else by now.
func (c *core) strike(events []remediate.Event) {
	outbox := c.plan.Outbox()
	for _, e := range events {
		if slices.Contains(outbox, e) {
			c.plan.Told(e.Key)
		}
	}
}

// settle writes down what has changed, and only then has it carried out.
func (c *core) settle(now time.Time) {
	c.sources.Deaf, c.sources.Links = c.deaf(now), c.judge.Links()
	c.sources.Domain, c.sources.Summary = nvlink.DomainHash(c.judge.Domain()), c.speaks().Text()
	c.afflicted(c.judge.Heard())
	c.sources.Stranded = c.stranded(now)
	c.window(now)
	c.prove()
	c.write(now)
	c.verifying()
	c.unreported(now)
	c.show()
	if c.plan.Ready() {
		w := wishes{node: c.plan.Desired(), events: c.plan.Outbox(), deed: c.deed(), domain: c.listens(), racked: c.sources.Domain != "", lends: c.judge.Lends(),
			serves: c.serving != nil && len(c.serving.Replicas) > 0,
			asks:   c.plan.Asks(), leave: c.plan.Leave(), turn: c.plan.Turn(),
			stands: c.stands(now), looks: c.looks, marks: c.marks()}
		w.watches, w.since = c.plan.Watches(now)
		w.fences, w.fencesKnown = c.fences()
		c.publish(w)
	}
	c.witness.settle(now, c.shown.Load(), c.plan.Outbox())
	c.witness.deed(now, c.plan.Deed())
}

// write saves the plan. Where the store breaks or is mended in this moment, the
// plan hears of it, and what it then wants is written as well.
func (c *core) write(now time.Time) {
	for {
		c.sources.Store = c.memory.trouble()
		c.plan.Sources(now, c.sources)
		c.memory.save(now, c.judge, c.plan)
		if c.memory.trouble() == c.sources.Store {
			break
		}
	}
	if c.sources.Store == "" {
		c.plan.Written()
	}
	for _, written := range c.owed {
		if c.sources.Store != "" {
			written <- errors.New(c.sources.Store)
			continue
		}
		written <- nil
	}
	c.owed = nil
}

// deafAfter is how long the kernel log may be away before that is told: it is
// reopened after a second.
const deafAfter = 10 * time.Second

// deaf says why the kernel log is not heard, once that has lasted.
func (c *core) deaf(now time.Time) string {
	s := c.hearing()
	if now.Sub(s.Since) < deafAfter {
		return ""
	}
	return s.Deaf
}

func workloadNames(ws []fault.Workload) []string {
	ns := make([]string, len(ws))
	for i, w := range ws {
		ns[i] = w.Name
	}
	return ns
}

func names(ds []fault.Device) []string {
	ns := make([]string, len(ds))
	for i, d := range ds {
		ns[i] = d.String()
	}
	return ns
}
