package serving

import (
	"fmt"
	"slices"
	"strings"
)

// Unfound is a replica that somebody has named and that cannot be asked, or judged, as
// it was meant.
type Unfound struct{ Replica, Why string }

// Unfound are those of the last look, and why.
func (s *Serving) Unfound() []Unfound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unfound
}

// unfound says what of an engine of the site's list is not on this node; empty where all
// is, or the GPUs of the node are not known yet. Pid is that of its process, 0 for none.
func (l *local) unfound(e Engine, pid int) string {
	there := l.gpus()
	if len(there) == 0 {
		return ""
	}
	if e.Process != "" {
		if pid != 0 {
			return ""
		}
		why := fmt.Sprintf("no process that is called %q has a GPU open", e.Process)
		if l.found.Unknown != "" {
			why += ", as far as is known: " + l.found.Unknown
		}
		return why
	}
	var absent []string
	for _, gpu := range e.GPUs {
		if !slices.Contains(there, gpu) {
			absent = append(absent, gpu)
		}
	}
	if len(absent) == 0 {
		return ""
	}
	return "the node has no GPU or MIG device " + strings.Join(absent, ", ")
}

// miss adds a replica that is not found, and logs it unless it was so before.
func (s *Serving) miss(found *search, e Engine, why string) {
	if why == "" {
		return
	}
	found.unfound = append(found.unfound, Unfound{e.Name, why})
	if !slices.Contains(s.unfound, Unfound{e.Name, why}) {
		s.options.Log.Warn("a serving engine of the configuration is not found", "replica", e.Name, "why", why)
	}
}
