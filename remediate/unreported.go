package remediate

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Unreported is a diagnosis that has ended without a report: it was called off, given
// up before it began, or its agent died.
type Unreported struct {
	// Deed is empty where it was never begun; Asked is the ID of what was asked for,
	// empty where that was nothing.
	Deed  string
	Asked string
	Level int
	GPUs  []fault.Device
	Began time.Time
	// Check is CheckNotRun or CheckAborted, and Why says why.
	Check Check
	Why   string
}

func (p *Plan) unreported(u Unreported) { p.ended = append(p.ended, u) }

// Unreported gives the diagnoses that have ended without a report since the last call.
func (p *Plan) Unreported() []Unreported {
	us := p.ended
	p.ended = nil
	return us
}

// withoutReport takes in that a deed has ended so.
func (p *Plan) withoutReport(d *Deed, c Check, why string) {
	u := Unreported{Deed: d.ID, Level: d.Level, GPUs: d.GPUs, Began: d.Began, Check: c, Why: why}
	if p.asked(d.ID) {
		u.Asked = p.state.Asking.ID
	}
	p.unreported(u)
}
