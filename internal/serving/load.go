package serving

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Load is what the engines of a pod have to do, by the last that all of them have
// said. A nil pointer is unknown, which is never nothing.
type Load struct {
	Running, Waiting *float64
	At               time.Time
}

// Load says what a pod's engines have to do, and whether it may have any. Nothing is
// known of a pod that nobody has looked at yet, nor of one of which not every endpoint was
// asked: it may.
func (s *Serving) Load(uid string) (l Load, may bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	endpoints, seen := s.endpoints[uid]
	if seen && endpoints == 0 {
		return Load{}, false
	}
	running, waiting, asked := sum{}, sum{}, 0
	for _, scrape := range s.last {
		if scrape.Replica.UID != uid || uid == "" {
			continue
		}
		if asked++; asked == 1 || scrape.At.Before(l.At) {
			l.At = scrape.At
		}
		if scrape.Answer != serving.Answered {
			running.unknown, waiting.unknown = true, true
		}
		for _, r := range scrape.Engines {
			running.add(r.Running)
			waiting.add(r.Waiting)
		}
	}
	if !seen || asked < endpoints {
		return Load{}, true
	}
	l.Running, l.Waiting = running.known(), waiting.known()
	return l, true
}

// sum adds what may be unknown: then it is unknown as well.
type sum struct {
	of      float64
	unknown bool
}

func (s *sum) add(v *float64) {
	if v == nil {
		s.unknown = true
		return
	}
	s.of += *v
}

func (s *sum) known() *float64 {
	if s.unknown {
		return nil
	}
	return &s.of
}
