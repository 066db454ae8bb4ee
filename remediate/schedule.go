package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Schedule is when GPUs are diagnosed that are idle anyway. How many nodes of a
// group do so at once, and how much power a rack may draw meanwhile, nobody counts:
// Share alone spreads them.
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
// no open fault. The others have theirs when it is due again.
func (p *Plan) onSchedule(now time.Time) {
	s := p.policy.Diag.Schedule
	if p.state.Scheduled.IsZero() && s.Every > 0 {
		p.state.Scheduled = now.Add(-s.Every + time.Duration(s.Share*float64(s.Every)))
	}
	if !p.due(now) || p.state.Asking != nil || p.state.Deed != nil || p.sources.Store != "" {
		return
	}
	var idle []fault.Device
	for _, g := range p.sources.GPUs {
		sick := slices.ContainsFunc(p.state.Open, func(i *Incident) bool { return overlap(i.Verdict.GPUs, []fault.Device{g}) })
		if g.UUID != "" && !sick && p.free(now, []fault.Device{g}, time.Time{}) {
			idle = append(idle, g)
		}
	}
	if len(idle) > 0 {
		p.state.Scheduled = now
		p.wish(now, BySchedule, s.Level, union(idle))
	}
}
