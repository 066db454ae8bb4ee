package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Diagnosed is what the last diagnosis that said anything said of a GPU.
type Diagnosed struct {
	Check Check     `json:"check"`
	Level int       `json:"level"`
	At    time.Time `json:"at"`
	// Failure is why the GPU failed the last that it has failed, empty where one has
	// passed since.
	Failure string `json:"failure,omitempty"`
}

// record keeps what a diagnosis says of its GPUs, by UUID. One that was not run
// says nothing.
func (p *Plan) record(now time.Time, d *Deed, o Outcome) {
	for _, c := range o.Checked {
		if c.Check != CheckPassed && c.Check.rank() < CheckDoubtful.rank() {
			continue
		}
		if p.state.Diagnosed == nil {
			p.state.Diagnosed = map[string]Diagnosed{}
		}
		is := Diagnosed{Check: c.Check, Level: d.Level, At: now}
		switch c.Check {
		case CheckFailed:
			is.Failure = c.Why
		case CheckDoubtful:
			is.Failure = p.state.Diagnosed[c.GPU].Failure
		}
		p.state.Diagnosed[c.GPU] = is
	}
}

// Failures says why GPUs have failed a diagnosis, and passed none since; empty where
// none has.
func (p *Plan) Failures(ds []fault.Device) string {
	var all []string
	for _, d := range ds {
		if why := p.state.Diagnosed[p.uuid(d)].Failure; why != "" && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return strings.Join(all, "; ")
}

// diagnosed gives the node's label and annotation: the worst of its GPUs, and the
// latest of those. A part that is no longer there, and of no open incident, says
// nothing of the node.
func (p *Plan) diagnosed() (label, at string) {
	gpus, known := p.gpus()
	var worst Diagnosed
	for uuid, d := range p.state.Diagnosed {
		is := func(g fault.Device) bool { return g.UUID == uuid }
		here := !known || slices.ContainsFunc(gpus, is) ||
			slices.ContainsFunc(p.state.Open, func(i *Incident) bool { return slices.ContainsFunc(i.Verdict.GPUs, is) })
		if here && (d.Check.rank() > worst.Check.rank() || d.Check == worst.Check && d.At.After(worst.At)) {
			worst = d
		}
	}
	if worst.At.IsZero() {
		return "", ""
	}
	return fmt.Sprintf("%s-%d", worst.Check, worst.Level), worst.At.UTC().Format(time.RFC3339)
}
