package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The checks that are no class of fault: whether the sources of all others work.
const (
	Driver    = "driver"
	KernelLog = "kernel-log"
)

// What keeps a check from being made at all, and is none by itself.
const (
	// Daemon is one that runs and does not answer.
	Daemon = "daemon"
	// Usage is a wrong command line or configuration.
	Usage = "usage"
)

// Finding is one thing that is not in order.
type Finding struct {
	// Check is Driver, KernelLog, Daemon, Usage or a class of fault.
	Check string `json:"check"`
	Grade Grade  `json:"result"`
	// GPUs are UUIDs, or PCI addresses where those are not known.
	GPUs     []string `json:"gpus,omitempty"`
	Incident string   `json:"incident,omitempty"`
	Text     string   `json:"text"`
}

// Result is what a check has found.
type Result struct {
	Grade Grade `json:"result"`
	// Source is "daemon" or "driver": whose word it is; empty where nobody answered.
	Source string `json:"source,omitempty"`
	// GPUs counts those that the node has or must have, as far as anybody knows; Healthy
	// those of them that answer and that no fault is about for which the node leaves
	// service, whether or not it counts for this check. Both are nil where the driver
	// cannot be asked.
	GPUs     *int      `json:"gpus,omitempty"`
	Healthy  *int      `json:"gpusHealthy,omitempty"`
	Findings []Finding `json:"findings"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// stale is how old a daemon's status may be: its core renews it every second.
const stale = 20 * time.Second

// Judge grades what an agent says of itself and its node.
func Judge(now time.Time, s agent.Status, which Filter) Result {
	fs := slices.Concat(unseen(s), faults(s.Incidents), training(s.Training))
	r := Result{}
	if s.Driver.Gpuless || s.Driver.Polls > 0 && s.Driver.Blind == "" {
		r.count(s, fs)
	}
	if age := now.Sub(s.At); age > stale {
		fs = append(fs, Finding{Check: Driver, Grade: Unknown, Text: fmt.Sprintf("the daemon's word is %s old", age.Round(time.Second))})
	}
	r.Findings = which.keep(fs)
	r.grade()
	return r
}

// count counts the GPUs: those that answered once, those that a fault names and that
// never did, and at least as many as there must be.
func (r *Result) count(s agent.Status, fs []Finding) {
	known, healthy := map[string]bool{}, 0
	for _, g := range s.GPUs {
		known[g.UUID], known[g.PCI.String()] = true, true
		if g.Listed && !g.Lost && !slices.ContainsFunc(fs, func(f Finding) bool {
			return f.Grade == Faulty && (slices.Contains(f.GPUs, g.UUID) || slices.Contains(f.GPUs, g.PCI.String()))
		}) {
			healthy++
		}
	}
	all := len(s.GPUs)
	for _, f := range fs {
		for _, name := range f.GPUs {
			if !known[name] {
				known[name] = true
				all++
			}
		}
	}
	all = max(all, s.Driver.Expect)
	r.GPUs, r.Healthy = &all, &healthy
}

// Failed is the result of a check that could not be made: what kept it, and why.
func Failed(check, why string) Result {
	r := Result{Findings: []Finding{{Check: check, Grade: Unknown, Text: why}}}
	r.grade()
	return r
}

// grade takes the worst finding's, and puts that first.
func (r *Result) grade() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return worse(b.Grade, a.Grade) })
	if len(r.Findings) > 0 {
		r.Grade = r.Findings[0].Grade
	}
}

// unseen gives the sources that do not work.
func unseen(s agent.Status) (fs []Finding) {
	for _, why := range s.KernelLog.Missing() {
		fs = append(fs, Finding{Check: KernelLog, Grade: Unknown, Text: why})
	}
	var whys []string
	switch d := s.Driver; {
	case !d.Enabled || d.Gpuless:
	case d.Blind != "":
		whys = append(whys, d.Blind)
	case d.Answered.IsZero():
		whys = append(whys, "has not answered")
	default:
		for _, call := range d.Stuck {
			whys = append(whys, call+" does not return")
		}
	}
	for _, why := range whys {
		fs = append(fs, Finding{Check: Driver, Grade: Unknown, Text: why})
	}
	return fs
}

// faults grades the open incidents.
func faults(incidents []remediate.Incident) (fs []Finding) {
	for _, i := range incidents {
		v := i.Verdict
		f := Finding{Check: string(v.Class), Grade: Degraded, Incident: v.ID, Text: v.Reason}
		switch {
		case i.Released:
			f.Text += "; an administrator has put the node back"
		case i.State == remediate.Probation:
			f.Text = strings.TrimPrefix(f.Text, "over: ") + "; over, and on probation"
		case v.Acts() || i.State == remediate.Failed:
			f.Grade = Faulty
		}
		f.Text = strings.TrimPrefix(f.Text, "; ")
		for _, g := range v.GPUs {
			f.GPUs = append(f.GPUs, name(g))
		}
		fs = append(fs, f)
	}
	return fs
}

// training grades NVLinks that are not up yet: they are no fault, and a job that needs
// them should not begin. What is alike on several GPUs is one finding.
func training(all []fault.Training) (fs []Finding) {
	for _, t := range all {
		text := fmt.Sprintf("%s, and given until %s", t.What, t.Until.UTC().Format(time.RFC3339))
		same := slices.IndexFunc(fs, func(f Finding) bool { return f.Check == string(t.Class) && f.Text == text })
		if same < 0 {
			same = len(fs)
			fs = append(fs, Finding{Check: string(t.Class), Grade: Degraded, Text: text})
		}
		fs[same].GPUs = append(fs[same].GPUs, name(t.GPU))
	}
	return fs
}

// name is a GPU's UUID, or its PCI address where that is not known.
func name(d fault.Device) string { return cmp.Or(d.UUID, d.PCI.String()) }
