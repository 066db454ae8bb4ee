package remediate

import (
	"slices"
	"strconv"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Ready says whether there is anything to say of the node yet: before the
// first answer of the driver, and without a fault of the node, there is not.
func (p *Plan) Ready() bool { return p.sources.Polled || len(p.ofNode()) > 0 }

// ofNode gives the open incidents that the node shows, the worst first. Where only a
// program is to blame the node is healthy.
func (p *Plan) ofNode() []*Incident {
	return slices.DeleteFunc(p.ranked(), func(i *Incident) bool { return !i.Verdict.Hardware })
}

// Desired gives all that the Node object shall say now.
func (p *Plan) Desired() Desired {
	if !p.met && !slices.ContainsFunc(p.state.Open, p.takes) {
		return Desired{Look: true}
	}
	d := Desired{State: Healthy, GPU: p.gpuCondition(), NVLink: p.nvlinkCondition(),
		Domain: p.sources.Domain, Summary: p.sources.Summary}
	for n, i := range p.ofNode() {
		if n == 0 {
			d.State = i.State
		}
		if d.Fault == "" && !i.Released {
			d.Fault, d.Radius = string(i.Verdict.Class), i.Verdict.Radius.String()
			d.Since = i.Verdict.Opened.UTC().Format(time.RFC3339)
		}
		if i.holds() && !i.Contained {
			d.Unseen = append(d.Unseen, i.Verdict.ID)
		}
		if i.holds() && d.Note == nil {
			d.Quarantine, d.Keep = true, p.policy.KeepFromAutoscaler
			d.Note = note(i)
			d.Note.Leave = p.state.Leave != nil
		}
	}
	if d.Note != nil && p.state.Fencing.Lifted {
		d.Note.Fence, d.State = FenceDevice, Suspect // the node serves
	}
	if p.sources.Stranded > 0 {
		d.Stranded = strconv.FormatFloat(p.sources.Stranded, 'f', 2, 64)
	}
	d.Diag, d.DiagAt = p.diagnosed()
	d.Diagnosing = p.diagnosing()
	d.Taken = p.state.Taken
	if gpus, known := p.gpus(); known {
		healthy := p.healthy(gpus)
		d.GPUsHealthy = &healthy
	}
	return d
}

// holding says whether any incident keeps the node out of service.
func (p *Plan) holding() bool {
	return slices.ContainsFunc(p.state.Open, (*Incident).holds)
}

// out says whether the node as a whole is out of service, or shall be.
func (p *Plan) out() bool { return p.holding() && !p.state.Fencing.Lifted }

func note(i *Incident) *Note {
	v := i.Verdict
	n := &Note{ID: v.ID, Opened: v.Opened.UTC(), Fault: string(v.Class), GPUs: []string{},
		Radius: v.Radius.String(), Action: v.Action.String(), Step: i.next(), Since: i.Since.UTC()}
	if i.State == Probation && !i.Adopted { // the end of one that was adopted is put off with each poll
		n.Until = i.Until.UTC()
	}
	for _, g := range v.GPUs {
		if g.UUID != "" {
			n.GPUs = append(n.GPUs, g.UUID)
		} else {
			n.GPUs = append(n.GPUs, g.PCI.String())
		}
	}
	return n
}

// gpus are those that answer. An agent that has only just come back goes by those
// that answered the one before, until it has asked or cannot.
func (p *Plan) gpus() (ds []fault.Device, known bool) {
	switch {
	case p.sources.Blind != "":
		return nil, false
	case p.sources.Polled:
		return p.sources.GPUs, true
	}
	return p.state.GPUs, len(p.state.GPUs) > 0
}

// healthy counts the GPUs that no open incident is about.
func (p *Plan) healthy(gpus []fault.Device) int {
	n := 0
	for _, g := range gpus {
		sick := slices.ContainsFunc(p.state.Open, func(i *Incident) bool {
			return i.sick() && overlap(i.Verdict.GPUs, []fault.Device{g})
		})
		if !sick {
			n++
		}
	}
	return n
}
