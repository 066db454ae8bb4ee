package kernlog

import "github.com/gpuhealthd/gpuhealthd/collector/journal"

// merge makes one log of two sources. It is pure: what it decides is carried out
// by Log. Its batches alias what it was given.
type merge struct {
	source Source
	accept bool
	// asks says that the journal is asked for lost records; in Both they come by
	// themselves.
	asks bool
	once *once
	gaps []gap
	mark Bookmark
	// read is the device's last record, delivered or not.
	read Moment
	// floor is the last record that an earlier life handled: what the journal has
	// up to there is old. kmsgFloor is the same for the device, where that cannot
	// go by its own numbers.
	floor, kmsgFloor Moment
	// live and young are for the journal what they are in a session: the backlog
	// has been read, and the clock ResumeGrace before the present opening.
	live  bool
	young uint64

	tally
}

// tally counts what merging makes of records.
type tally struct {
	// Filled counts lost records that the journal had, Duplicates those of one
	// source that the other had delivered.
	Filled, Duplicates uint64
	// Lost counts records that no source had; LastGap is the latest of them.
	Lost    uint64
	LastGap Gap
}

func newMerge(source Source, asks, accept bool, from Bookmark, boot string) *merge {
	m := &merge{source: source, asks: asks, accept: accept, once: newOnce(), mark: from, read: from.Last, floor: from.Last}
	if from.Kmsg.BootID != boot {
		m.kmsgFloor = from.Last
	}
	if source == FromJournal {
		m.mark.Kmsg = Position{} // it falls behind: whoever reads it next begins anew, above what was handled
	}
	return m
}

// kmsg takes a batch of the device, and gives what is to be handed over and what
// the journal is to be asked for.
func (m *merge) kmsg(now moment, records []Record) (out []Record, ask []journal.Span) {
	out = records[:0]
	for _, rec := range records {
		if rec.Lost > 0 {
			if g := m.gapBefore(now, rec); m.open(g) {
				ask = append(ask, g.span)
			}
		}
		m.mark.Kmsg, m.read = rec.Position, Moment{rec.BootID, rec.Micros}
		m.heard(rec)
		again := m.kmsgFloor.covers(rec.BootID, rec.Micros) || m.compares() && !m.once.fresh(kmsgSide, rec.Micros, rec.Text)
		if again {
			m.Duplicates++
		}
		if again || rec.Userspace && !m.accept {
			rec.Text = nil // the loss alone is told
		}
		if rec.Text != nil || rec.Lost > 0 {
			out = append(out, rec)
		}
	}
	return out, ask
}

// compares says whether one record can come from both sources.
func (m *merge) compares() bool { return m.asks || m.source == Both }

// gapBefore is the gap that rec tells of. What the journal had delivered of it
// before it was noticed is not missing.
func (m *merge) gapBefore(now moment, rec Record) gap {
	after := m.read.in(rec.BootID)
	g := gapBefore(rec, after, m.floor)
	g.Gap = g.dated(now, after, rec.Micros)
	early := m.once.inside(after, rec.Micros, g.missing)
	g.missing -= early
	m.Filled += early
	return g
}

// open keeps a gap until it is settled; false where nobody can fill it.
func (m *merge) open(g gap) bool {
	if !m.compares() {
		m.settleOne(g)
		return false
	}
	m.gaps = append(m.gaps, g)
	return m.asks
}

// journal takes what the journal has said: entries that it follows, or that it
// was asked for.
func (m *merge) journal(now moment, boot string, entries []journal.Entry, backlog bool) (out []Record) {
	resumed := m.live || m.floor.BootID == boot
	m.live = m.live || !backlog
	for _, e := range entries {
		rec := Record{Position: Position{BootID: boot, Sequence: e.Micros}, Micros: e.Micros, Text: e.Text, Userspace: e.Userspace,
			Backlog: backlog && !(resumed && e.Micros >= m.young)}
		m.passed(e.Micros)
		if e.Missed > 0 && m.source == FromJournal {
			// Elsewhere the numbers of the device say exactly what is lost.
			rec.Lost = e.Missed
			m.settleOne(gap{Gap: Gap{BootID: boot}.dated(now, m.mark.Last.in(boot), e.Micros), missing: e.Missed})
		}
		if len(rec.Text) > 0 && !m.admit(&rec, e.Origin) {
			rec.Text = nil
		}
		if len(rec.Text) > 0 || rec.Lost > 0 {
			out = append(out, rec)
		}
	}
	return out
}

// admit says whether a record of the journal is news, and gives it its place
// where it was lost. A guest's line is never any other source's.
func (m *merge) admit(rec *Record, origin journal.Origin) bool {
	if origin != journal.Kernel {
		return true
	}
	again := m.floor.covers(rec.BootID, rec.Micros)
	switch {
	case m.asks: // what is in no gap is the device's to deliver
		again = again || m.once.had(journalSide, rec.Micros, rec.Text)
	case m.source == Both:
		again = again || !m.once.fresh(journalSide, rec.Micros, rec.Text)
	}
	if again {
		m.Duplicates++
		return false
	}
	if found := m.find(rec); m.asks && !found {
		return false
	}
	m.heard(*rec)
	return m.accept || !rec.Userspace
}

// find looks for the gap that a record belongs to.
func (m *merge) find(rec *Record) bool {
	for i := range m.gaps {
		if m.gaps[i].fill(rec) {
			m.Filled++
			rec.Backlog = rec.Backlog || rec.Micros < m.young // the gap may be older than the record behind it
			return true
		}
	}
	return false
}

// heard moves the bookmark's clock on.
func (m *merge) heard(rec Record) {
	if !rec.Late {
		m.mark.Last = Moment{BootID: rec.BootID, Micros: max(m.mark.Last.in(rec.BootID), rec.Micros)}
	}
}

// passed settles the gaps that a journal which is followed has gone past.
func (m *merge) passed(micros uint64) {
	for m.source == Both && len(m.gaps) > 0 && micros > m.gaps[0].span.To {
		m.settle(m.gaps[0].span)
	}
}

// settle closes the gap of a span: what is missing still is lost.
func (m *merge) settle(span journal.Span) {
	for i, g := range m.gaps {
		if g.span == span {
			m.gaps = append(m.gaps[:i], m.gaps[i+1:]...)
			m.settleOne(g)
			return
		}
	}
}

// settleAll closes every gap, since nobody will fill them.
func (m *merge) settleAll() {
	for len(m.gaps) > 0 && m.source == Both {
		m.settle(m.gaps[0].span)
	}
}

func (m *merge) settleOne(g gap) {
	if g.missing > 0 {
		m.Lost += g.missing
		m.LastGap = g.Gap
	}
}
