package remediate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// Waiting is what one step waits for, in words for a person.
type Waiting struct {
	Step StepKind `json:"step"`
	For  string   `json:"for"`
	// Until is when that ends, and the step is tried; zero where nobody can say.
	Until time.Time `json:"until,omitzero"`
}

// Waits says what the steps of an incident wait for that are wanted and are not
// under way.
func (p *Plan) Waits(now time.Time, id string) (ws []Waiting) {
	i := p.find(id)
	if i == nil {
		return nil
	}
	for _, s := range i.Steps {
		w := Waiting{Step: s.Kind}
		switch held := heldBy(i, s.Kind); {
		case s.Status == UnderWay || s.Status != Pending && !s.Status.waits():
			continue
		case held != "":
			w.For = held
		default:
			w.For, w.Until = p.waitsFor(now, i, s)
		}
		if w.For != "" {
			ws = append(ws, w)
		}
	}
	return ws
}

// heldBy names the guards that hold a step: the incident tells the rest of them.
func heldBy(i *Incident, k StepKind) string {
	var all []string
	for _, h := range i.Held {
		if h.Action == guard.Action(k) {
			all = append(all, "the guard "+string(h.Guard))
		}
	}
	return strings.Join(all, ", ")
}

// waitsFor says it of one step, by its status.
func (p *Plan) waitsFor(now time.Time, i *Incident, s Step) (what string, until time.Time) {
	switch s.Status {
	case Pending:
		if i.Verdict.Hard && p.mode(i) == Repair {
			until = later(s.Since, i.Seen).Add(p.policy.Unreachable)
		}
		return "the scheduler to show it", until
	case Held:
		return p.sources.Store, until
	case PutOff:
		return s.Why, s.Since.Add(putOffFor)
	case Overdue:
		if s.Kind == StepRestart {
			return cmp.Or(s.Why, "its pod to go"), s.Since.Add(p.policy.Restart.Deadline)
		}
		return cmp.Or(s.Why, "the GPUs to be free"), s.Since.Add(p.policy.Drain.Deadline)
	case Guarded:
		return "the group's leave", until
	case Blocked:
		if s.Kind == StepDiag {
			return strings.TrimSuffix("a person: "+s.Why, ": "), i.Retry
		}
		return cmp.Or(s.Why, "whoever holds the GPUs to go"), until
	}
	if !p.ours(i, s.Kind) {
		return strings.TrimSuffix("whoever does that for this site: "+s.Why, ": "), until
	}
	return p.waitsItsTurn(now, i, s)
}

// waitsItsTurn says what the agent itself waits for before it begins.
func (p *Plan) waitsItsTurn(now time.Time, i *Incident, s Step) (what string, until time.Time) {
	d, drain := p.state.Deed, i.step(StepDrain)
	_, closed := p.cordoned(now, i)
	switch {
	case now.Before(i.Pause) && s.Kind != StepDrain:
		return cmp.Or(s.Why, "the idle window was none"), i.Pause
	case now.Before(i.Settling):
		return "the repair to be seen to work", i.Settling
	case d != nil && d.Undoing:
		return "what was changed to be put back: " + strings.Join(d.Undo, ", "), until
	case d != nil:
		return fmt.Sprintf("the %s of %s", d.Kind, d.where()), d.Deadline
	case s.Kind == StepRestart && takesTurns(i.Verdict):
		return "its turn in its group", until
	case s.Kind == StepRestart:
		return "a repair that is due", until
	case !closed && s.Status != WhenIdle:
		return "the Node to be seen cordoned", until
	case s.Kind == StepDrain:
		return "", until
	case s.Status == Planned && i.standing() && drain != nil && drain.Status.waits():
		return "the drain", until
	case s.Kind == StepDiag && p.wantsDiag(now, i) == 0:
		return "the fault to be over, and the repair before it", until
	}
	return p.waitsForHolders(now, i, s.Kind), until
}

// waitsForHolders says who is in the way; empty where nobody is.
func (p *Plan) waitsForHolders(now time.Time, i *Incident, k StepKind) string {
	if k == StepDiag {
		if p.freeToDiagnose(now, p.diagScope(i), time.Time{}) {
			return ""
		}
		return p.whoHolds(p.diagScope(i))
	}
	hs := p.anybody()
	if k == StepReset {
		hs = p.holders(p.resetScope(i))
	}
	if len(hs) == 0 && p.fresh(now, time.Time{}) {
		return ""
	}
	return p.heldBy(hs)
}

// askingFor says what the diagnosis waits for that somebody asks for.
func (p *Plan) askingFor(now time.Time) string {
	a := p.state.Asking
	switch o := p.occupied; {
	case p.freeToDiagnose(now, a.GPUs, a.At):
		return "another repair comes first"
	case now.Before(a.Until) && (o == nil || !o.At.After(a.At)):
		return "a first look at who holds the GPUs"
	}
	return p.whoHolds(a.GPUs)
}

// AskingWaits says it where one waits, nil where none does.
func (p *Plan) AskingWaits(now time.Time) *Waiting {
	a := p.state.Asking
	if a == nil || a.Deed != "" {
		return nil
	}
	return &Waiting{StepDiag, p.askingFor(now), a.Until}
}
