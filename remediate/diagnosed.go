package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Diagnosed is what the last diagnosis that said anything said of a GPU.
type Diagnosed struct {
	Check Check     `json:"check"`
	Level int       `json:"level"`
	At    time.Time `json:"at"`
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
		p.state.Diagnosed[c.GPU] = Diagnosed{Check: c.Check, Level: d.Level, At: now}
	}
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
