package kernlog

import (
	"sync"
	"time"
)

// State is what a reader says of itself, for metrics and readiness. Counts run
// since the reader was made: Read, Lost and Garbled together are all records
// that the log had in that time.
type State struct {
	// Deaf is why the log cannot be heard at present, "" while it is heard.
	Deaf string `json:"deaf,omitempty"`
	// Since is when the reader became deaf, or began to hear.
	Since time.Time `json:"since,omitzero"`

	// Read counts records read for the first time, Foreign ones included.
	Read uint64 `json:"read"`
	// Lost counts records that the log had and the reader did not get.
	Lost uint64 `json:"lost"`
	// Foreign counts records left out because user space wrote them.
	Foreign uint64 `json:"foreign"`
	// Garbled counts records without a kmsg head.
	Garbled uint64 `json:"garbled"`
	// Oversized counts records that were longer than the reader's buffer, which
	// was then enlarged; each is among Lost as well.
	Oversized uint64 `json:"oversized"`
	// Overruns counts how often the kernel overwrote records before they were
	// read.
	Overruns uint64 `json:"overruns"`
	// Reopened counts openings behind the first.
	Reopened uint64 `json:"reopened"`

	// Last is the record read last, LastArrival the moment it was read.
	Last        Position  `json:"last"`
	LastArrival time.Time `json:"lastArrival,omitzero"`
	// Tested is when the reader last compared itself with the log's end; zero
	// where it has not yet. Failed counts the comparisons that it did not pass.
	Tested time.Time `json:"tested,omitzero"`
	Failed uint64    `json:"failed"`
	// LastGap is the latest loss; zero where nothing was lost.
	LastGap Gap `json:"lastGap,omitzero"`

	opened bool // once
	// nobody says that the journal has no entry of this boot.
	nobody bool
}

// account guards a State.
type account struct {
	mu    sync.Mutex
	state State
}

func (a *account) read() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// update changes the state under its lock.
func (a *account) update(change func(*State)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.state)
}

// record counts one record that was read for the first time.
func (s *State) record(rec Record, now time.Time) {
	s.hearing(now)
	s.Read++
	s.Last, s.LastArrival = rec.Position, now
	if rec.Lost > 0 {
		s.Lost += rec.Lost
		s.LastGap = Gap{BootID: rec.BootID, From: rec.Sequence - rec.Lost, To: rec.Sequence - 1, At: now}
	}
}

// hearing takes note that the log answers.
func (s *State) hearing(now time.Time) {
	if s.Deaf != "" {
		s.Deaf, s.Since = "", now
	}
}

// deaf takes note that it does not; the moment it began stays.
func (s *State) deaf(reason error, now time.Time) {
	if s.Deaf == "" {
		s.Since = now
	}
	s.Deaf = reason.Error()
}
