package serving

import (
	"encoding/json"
	"fmt"
)

// saved is the form in which a watch outlives its process: who had requests open,
// and since when they have not got on where that is long enough to matter. What
// changes with every scrape of a healthy engine is not in it, so that it is seldom
// written.
type saved struct {
	ID
	Said *replica
}

// MarshalJSON gives what has to outlive the process.
func (w *Watch) MarshalJSON() ([]byte, error) {
	all := []saved{}
	for _, r := range w.sorted() {
		kept := &replica{Life: r.Life, Endpoints: map[string]*endpoint{}}
		for url, p := range r.Endpoints {
			if p = p.saved(w.cfg); len(p.Engines) > 0 {
				kept.Endpoints[url] = p
			}
		}
		if len(kept.Endpoints) > 0 {
			all = append(all, saved{r.now.ID(), kept})
		}
	}
	return json.Marshal(all)
}

// saved is what is kept of an endpoint: the engines with requests open.
func (p *endpoint) saved(cfg Config) *endpoint {
	kept := &endpoint{Started: p.Started, Engines: map[string]*engine{}}
	if !p.busy && p.silentFor() >= 2*cfg.Period {
		kept.Heard = p.Heard
	}
	for name, e := range p.Engines {
		if !e.works() || p.busy {
			continue
		}
		kept.Engines[name] = &engine{Measured: e.Measured, Begun: e.Begun}
		if p.stillFor(e) >= 2*cfg.Period {
			kept.Engines[name].Moved, kept.Engines[name].Counters = e.Moved, e.Counters
		}
	}
	return kept
}

// UnmarshalJSON restores what MarshalJSON gave, into a new watch.
func (w *Watch) UnmarshalJSON(data []byte) error {
	var all []saved
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for _, s := range all {
		if !s.Said.whole() {
			return fmt.Errorf("what replica %q has said is not whole", s.Name)
		}
		for _, p := range s.Said.Endpoints {
			for name, e := range p.Engines {
				e.name, e.Open = name, true
			}
		}
		s.Said.now = Replica{Name: s.Name, UID: s.UID, Life: s.Said.Life}
		w.replicas[s.ID] = s.Said
	}
	return nil
}

// whole says whether nothing is missing that is always saved.
func (r *replica) whole() bool {
	if r == nil {
		return false
	}
	for _, p := range r.Endpoints {
		if p == nil {
			return false
		}
		for _, e := range p.Engines {
			if e == nil {
				return false
			}
		}
	}
	return true
}
