package kernlog

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// Hearing is what a log says of itself as a whole.
type Hearing struct {
	// State is of the source that is heard; of both, it is deaf where both are.
	// Lost counts what no source had, once that is known.
	State
	// Source is what is heard, never Auto.
	Source Source `json:"source"`
	// Filled counts lost records that the journal had, Duplicates those of one
	// source that the other had delivered.
	Filled     uint64 `json:"filled"`
	Duplicates uint64 `json:"duplicates"`
	// Kmsg and Journal are what each says of itself, nil where it is not used.
	// Lost there is what it lost itself. A journal that only fills gaps, or is
	// read for other logs, may be absent without the log being deaf.
	Kmsg    *State `json:"kmsg,omitempty"`
	Journal *State `json:"journal,omitempty"`
}

// Hearing may be asked at any time.
func (l *Log) Hearing() Hearing {
	h := Hearing{Source: l.source}
	if l.reader != nil {
		s := l.reader.State()
		h.Kmsg, h.State = &s, s
	}
	if l.journal != nil {
		s := l.told.read()
		h.Journal = &s
		if l.reader == nil {
			h.State = s
		}
	}
	if l.source == Both && h.Kmsg.Deaf != "" && h.Journal.Deaf == "" {
		h.Deaf, h.Since = "", h.Journal.Since
	}
	l.counted.mu.Lock()
	defer l.counted.mu.Unlock()
	t := l.counted.tally
	h.Filled, h.Duplicates, h.Lost, h.LastGap = t.Filled, t.Duplicates, t.Lost, t.LastGap
	return h
}

// Missing names the sources that should be heard and are not, each with why.
func (h Hearing) Missing() (why []string) {
	device := h.State
	if h.Kmsg != nil {
		device = *h.Kmsg
	}
	if h.Source != FromJournal && device.Deaf != "" {
		why = append(why, "kernel log: "+device.Deaf)
	}
	if h.Source != Kmsg && h.Journal != nil && h.Journal.Deaf != "" {
		why = append(why, "journal: "+h.Journal.Deaf)
	}
	return why
}

// saw takes note of what the journal's reader says.
func (s *State) saw(r journal.Report, boot string, now time.Time) {
	switch r.Kind {
	case journal.KindFailed:
		s.deaf(errors.New(r.Error), now)
	case journal.KindOpened:
		if s.opened {
			s.Reopened++
		}
		s.opened = true
		if s.nobody = r.Empty; s.nobody {
			s.deaf(fmt.Errorf("%s has no entry of this boot", r.Path), now)
			return
		}
		s.hearing(now)
	case journal.KindEntries:
		if s.nobody && len(r.Entries) == 0 {
			return
		}
		s.nobody = false
		s.hearing(now)
		s.LastArrival = now
		for _, e := range r.Entries {
			s.entry(e, boot)
		}
	}
}

func (s *State) entry(e journal.Entry, boot string) {
	s.Lost += e.Missed
	if len(e.Text) == 0 {
		return
	}
	s.Read++
	if e.Userspace {
		s.Foreign++
	}
	if e.Origin == journal.Kernel {
		s.Last = Position{BootID: boot, Sequence: e.Micros}
	}
}
