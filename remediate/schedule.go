package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Schedule is when GPUs are diagnosed that are idle anyway. Share spreads the nodes of
// a fleet; how many may be diagnosed at once, the guards say.
type Schedule struct {
	// Every is the time from one to the next; 0 is never.
	Every time.Duration
	Level int
	// Windows are when one may begin; none is any time.
	Windows []Window
	// Share is this node's own place, from 0 to less than 1: the first is so much of
	// Every after the start, and in a window that much of its first half is waited.
	Share float64
}

// Window is a time of each day, in UTC, from one time since midnight to another,
// which may be past the next midnight.
type Window struct{ From, To time.Duration }

// day is 24 hours: UTC has no other.
const day = 24 * time.Hour

// open says whether a window is open, once a share of its first half is over.
func (w Window) open(now time.Time, share float64) bool {
	length := (w.To - w.From + day) % day
	since := (now.Sub(now.UTC().Truncate(day)) - w.From + day) % day
	return since < length && since >= time.Duration(share*float64(length)/2)
}

// due says whether a diagnosis by the clock may begin.
func (p *Plan) due(now time.Time) bool {
	s := p.policy.Diag.Schedule
	if s.Every <= 0 || p.policy.Diag.Mode != MeansCommand || p.state.Scheduled.IsZero() || now.Before(p.state.Scheduled.Add(s.Every)) {
		return false
	}
	return len(s.Windows) == 0 || slices.ContainsFunc(s.Windows, func(w Window) bool { return w.open(now, s.Share) })
}

// onSchedule asks for a diagnosis by the clock of the GPUs that are idle and have
// no open fault, once it is this node's turn. The others have theirs when it is due
// again.
func (p *Plan) onSchedule(now time.Time) {
	s := p.policy.Diag.Schedule
	if p.state.Scheduled.IsZero() && s.Every > 0 {
		p.state.Scheduled = now.Add(-s.Every + time.Duration(s.Share*float64(s.Every)))
	}
	p.lapseTurn(now)
	switch gpus := p.idleByClock(now); {
	case len(gpus) == 0:
		p.endTurn()
	case p.isTurn(now):
		p.state.Scheduled = now
		p.wish(now, BySchedule, s.Level, gpus)
	}
}

// idleByClock gives the GPUs that a diagnosis by the clock may be of now. A node that
// is out of service, or wants to be, has other things to do.
func (p *Plan) idleByClock(now time.Time) (idle []fault.Device) {
	if !p.due(now) || p.state.Asking != nil || p.state.Deed != nil || p.sources.Store != "" || p.holding() || len(p.gate.asks) > 0 {
		return nil
	}
	for _, g := range p.sources.GPUs {
		sick := slices.ContainsFunc(p.state.Open, func(i *Incident) bool { return overlap(i.Verdict.GPUs, []fault.Device{g}) })
		if g.UUID != "" && !sick && p.freeToDiagnose(now, []fault.Device{g}, time.Time{}) {
			idle = append(idle, g)
		}
	}
	return union(idle)
}
