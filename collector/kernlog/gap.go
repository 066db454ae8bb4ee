package kernlog

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// Gap is an interval of lost records.
type Gap struct {
	BootID string `json:"bootID"`
	// From and To are the first and the last sequence inside the gap; both are 0
	// where journald alone noticed it.
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// At is when it was noticed.
	At time.Time `json:"at"`
	// Since and Until are when the records around it were written, by the
	// kernel's clock and the present; zero where that is not known.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// slack is how far the clocks of records may stand out of order: each CPU takes
// the time before it takes its place in the log. It counts before a gap, where
// all that was read is known; behind it, it would take for lost what is only
// not read yet.
const slack = 50 * time.Millisecond

// gap is a loss that the journal may fill.
type gap struct {
	Gap
	span    journal.Span
	backlog bool
	missing uint64
}

// gapBefore is what was lost between the record at the clock after, and rec.
// The record at floor, and all before, were handled in an earlier life.
func gapBefore(rec Record, after uint64, floor Moment) gap {
	from := after - min(after, uint64(slack.Microseconds()))
	if floor.covers(rec.BootID, from) {
		from = floor.Micros + 1
	}
	return gap{
		Gap:     Gap{BootID: rec.BootID, From: rec.Sequence - rec.Lost, To: rec.Sequence - 1},
		span:    journal.Span{Boot: rec.BootID, From: from, To: rec.Micros},
		backlog: rec.Backlog, missing: rec.Lost,
	}
}

// fill gives a record that only the journal had its place in the gap; false
// where it is not of this one. The n-th that is found gets the n-th number: the
// very one it had, where none stays missing.
func (g *gap) fill(rec *Record) bool {
	if g.missing == 0 || rec.BootID != g.BootID || rec.Micros < g.span.From || rec.Micros > g.span.To {
		return false
	}
	rec.Sequence = g.To + 1 - g.missing
	rec.Backlog = rec.Backlog || g.backlog
	rec.Late = true
	g.missing--
	return true
}

// moment is the present, on the clock on the wall and the kernel's.
type moment struct {
	at     time.Time
	micros uint64
}

// when is the time at which the kernel's clock showed micros.
func (m moment) when(micros uint64) time.Time {
	return m.at.Add(time.Duration(int64(micros)-int64(m.micros)) * time.Microsecond)
}

// dated gives a gap that was noticed now its times.
func (g Gap) dated(now moment, since, until uint64) Gap {
	g.At, g.Since, g.Until = now.at, now.when(since), now.when(until)
	return g
}
