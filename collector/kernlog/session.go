package kernlog

import (
	"errors"
	"time"
)

// ResumeGrace is how old a record may be that was written while the reader was
// away and is still not history. An upgrade of the agent takes seconds and a
// crash loop minutes: a fault in between is news, and an agent that called it
// backlog would swallow it. It holds only behind a position of the same boot,
// so that a first start never makes news of what lies in the ring. The age is
// taken from the kernel's clock against CLOCK_MONOTONIC at opening.
const ResumeGrace = 10 * time.Minute

// catchUp is how far a record's clock, and the present, must be past the
// opening before the record is live in a log that never runs dry. The kernel's
// local clock and CLOCK_MONOTONIC differ by less on a node of ordinary uptime.
const catchUp = 2 * time.Second

// errBeyond says that the saved position is not a place in this log.
var errBeyond = errors.New("saved position lies behind the end of the log")

// session is one opening of the log. It accounts for each sequence number once
// and tells history from news.
type session struct {
	boot string
	// from is the position's sequence where resumed is set.
	from    uint64
	resumed bool
	// next is the first sequence that is not accounted for.
	next uint64
	// last is the sequence read last in this opening, where seen is set.
	last uint64
	seen bool
	// nameless counts garbled records since the last whole one: each used up a
	// sequence number and must not look lost.
	nameless uint64
	// refused counts reads in a row that the buffer was too small for.
	refused int
	// live says that the backlog has been read.
	live bool
	// young and settled are places on the kernel's clock, in microseconds:
	// ResumeGrace before and catchUp behind the opening.
	young, settled uint64
}

// newSession begins at from where that is of this boot, else at the oldest
// record; now is CLOCK_MONOTONIC in microseconds.
func newSession(boot string, from Position, now uint64) *session {
	s := &session{boot: boot, settled: now + uint64(catchUp.Microseconds())}
	s.young = now - min(now, uint64(ResumeGrace.Microseconds()))
	if from.BootID == boot {
		s.resumed, s.from, s.next = true, from.Sequence, from.Sequence+1
	}
	return s
}

// position is the last place that is accounted for; zero where there is none.
func (s *session) position() Position {
	if s.next == 0 {
		return Position{}
	}
	return Position{BootID: s.boot, Sequence: s.next - 1}
}

// garbled accounts for a record whose sequence number could not be read.
func (s *session) garbled() { s.nameless++ }

// enter accounts for one record and makes its head. It is false for a record
// that was handled before.
func (s *session) enter(seq, micros uint64, monotonic func() uint64) (Record, bool) {
	if s.seen && seq <= s.last {
		s.rewind()
	}
	nameless := s.nameless
	s.last, s.seen, s.nameless = seq, true, 0
	if seq < s.next {
		return Record{}, false
	}
	gap := seq - s.next
	rec := Record{
		Position: Position{BootID: s.boot, Sequence: seq},
		Micros:   micros,
		Lost:     gap - min(gap, nameless),
		Backlog:  s.backlog(micros, monotonic),
	}
	s.next = seq + 1
	return rec, true
}

// rewind takes a sequence that ran backwards for the head of a new log. The
// kernel never does that; a file that was written anew over its old length
// does, and must not be mistaken for records that were handled.
func (s *session) rewind() { s.next, s.resumed = 0, false }

func (s *session) backlog(micros uint64, monotonic func() uint64) bool {
	if s.live || (s.resumed && micros >= s.young) {
		return false
	}
	// Both clocks are asked: the kernel's alone may run ahead and would make
	// news of old records in the usual case, where the log soon runs dry.
	s.live = micros > s.settled && monotonic() > s.settled
	return !s.live
}

// dry takes note that the log has no further record yet: the backlog is read.
func (s *session) dry() error {
	if s.resumed && (!s.seen || s.last < s.from) {
		return errBeyond
	}
	s.live = true
	return nil
}
