package remediate

import (
	"strconv"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// A diagnosis by the clock takes no node out of service, and draws the GPUs' full
// power: the group lets so many nodes do it at once, and a rack so many as its power
// is enough for. What a node has until then is its turn, which a label on the Node
// tells the others. The label stands for every diagnosis that runs, whoever wants it:
// all of them count, and the clock alone waits.

// isTurn says whether a diagnosis by the clock may begin, and asks the group if not.
func (p *Plan) isTurn(now time.Time) bool {
	g := p.policy.Guards
	switch hold := p.gate.inHand.Hold(); {
	case g == nil:
		return true
	case hold != nil:
		p.endTurn()
		p.gate.clock = []guard.Hold{*hold}
		return false
	case !g.Fleet:
		return true
	case p.state.Turn != nil:
		return p.state.Turn.Seen
	case p.gate.labelled:
		return false // of the diagnosis before: the label would be taken for this turn's
	}
	_, p.gate.clock = p.request(now, guard.Ask{Action: guard.Scheduled})
	return false
}

// lapseTurn ends a turn that was not seen on the Node in its time.
func (p *Plan) lapseTurn(now time.Time) {
	if t := p.state.Turn; t != nil && !t.Seen && !now.Before(t.Until) {
		p.state.Turn, p.gate.reply = nil, Reply{}
	}
}

// endTurn ends a turn that nothing is done with.
func (p *Plan) endTurn() {
	byClock := p.state.Asking != nil && p.state.Asking.By == BySchedule
	if p.state.Turn != nil && !byClock {
		p.state.Turn = nil
	}
}

// seeTurn takes in whether the Node says that it is diagnosed.
func (p *Plan) seeTurn(o Observed) {
	p.gate.labelled = o.Diagnosing != ""
	if p.state.Turn != nil && p.gate.labelled {
		p.state.Turn.Seen = true
	}
}

// Turn gives a copy of the group's leave for a diagnosis by the clock; nil where
// there is none.
func (p *Plan) Turn() *Leave { return p.state.Turn.clone() }

// diagnosing is what the Node's label says of a diagnosis; empty for none.
func (p *Plan) diagnosing() string {
	switch d := p.state.Deed; {
	case d != nil && d.Kind == StepDiag && !d.Undoing && !d.Watched:
		return strconv.Itoa(d.Level)
	case p.state.Turn != nil:
		return strconv.Itoa(p.policy.Diag.Schedule.Level)
	}
	return ""
}
