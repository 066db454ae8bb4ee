package serving

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Pairs remembers who works with whom in disaggregated serving, so that a worker that
// is lost is seen by its peers, even if nobody looked at the time. It is bounded by
// the groups that this node takes part in. Exported fields are its saved form.
type Pairs struct {
	Groups map[string]*pair `json:",omitempty"`
	Held   []held           `json:",omitempty"`
}

// pair is what is remembered of one group.
type pair struct {
	// Peers are those that ran when the group was seen last, or had run before, by UID.
	Peers map[Role]map[string]peer `json:",omitempty"`
	// Here are the lives of our own, by UID.
	Here map[string]string `json:",omitempty"`
	// Steady is as Pairs.Steady says.
	Steady time.Time `json:",omitzero"`
}

// Loss is a worker whose engine runs no more.
type Loss struct {
	Group string
	// Name is of the lost one, Role what it did, How what became of it, in words.
	Name string
	Role Role
	How  string
	// Hit are the workers of this node that worked with it: none of them has been
	// started anew since.
	Hit []Worker
}

// See takes in all groups of the node, and gives what was lost since the last time.
// What is not known of a group stays as it was. One that nobody can have handles of is no
// loss: it was never ready in its life, or comes and goes, and was not ready for settle.
func (p *Pairs) See(now time.Time, groups []Group, settle time.Duration) (lost []Loss) {
	before := p.Groups
	p.Groups = make(map[string]*pair, len(groups))
	for _, g := range groups {
		was := before[g.Name]
		if was != nil && !g.known() {
			was.Steady = time.Time{}
			p.Groups[g.Name] = was
			continue
		}
		g = was.recall(g)
		losses, next := was.see(now, g, settle)
		next.Steady = was.steady(now, g, losses)
		p.Groups[g.Name] = next
		for _, l := range losses {
			p.hold(now, l, was.ran(l.Role))
		}
		lost = append(lost, losses...)
	}
	p.forget(now, groups)
	return lost
}

// known says whether all is known that the workers of this node depend on.
func (g Group) known() bool {
	return !slices.ContainsFunc(g.Here, func(w Worker) bool {
		_, known := g.Peers[w.Role.Other()]
		return !known
	})
}

// see compares a group with what was remembered of it.
func (was *pair) see(at time.Time, g Group, settle time.Duration) (lost []Loss, next *pair) {
	next = &pair{Peers: map[Role]map[string]peer{}, Here: map[string]string{}}
	for _, w := range g.Here {
		next.Here[w.UID] = w.Life
	}
	for role, workers := range g.Peers {
		now := map[string]peer{}
		for _, w := range workers {
			if one := was.peer(role, w.UID).next(at, w); one.Life != "" || one.Again {
				now[w.UID] = one
			}
		}
		next.Peers[role] = now
		if was == nil {
			continue
		}
		for uid, peer := range was.Peers[role] {
			if now[uid].Life != peer.Life && peer.counts(at, settle) {
				lost = append(lost, Loss{Group: g.Name, Name: peer.Name, Role: role, How: became(workers, uid), Hit: was.hit(g, role)})
			}
		}
	}
	slices.SortFunc(lost, func(a, b Loss) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name)) })
	return lost, next
}

// hit are the workers of this node that a loss in the other role reaches.
func (was *pair) hit(g Group, lost Role) (hit []Worker) {
	for _, w := range g.Here {
		if w.Role == lost.Other() && w.Life != "" && was.Here[w.UID] == w.Life {
			hit = append(hit, w)
		}
	}
	return hit
}

// became says what became of a worker that does not run as it did.
func became(workers []Worker, uid string) string {
	at := slices.IndexFunc(workers, func(w Worker) bool { return w.UID == uid })
	switch {
	case at < 0:
		return "is gone"
	case workers[at].Life == "":
		return "has ended"
	}
	return "was started anew"
}

// held is KV cache that a prefill worker keeps for a decode worker that will not come.
type held struct {
	ID
	Life  string
	GPUs  int
	Share float64
	Until time.Time
}

// hold takes in that a decode worker, one of so many, was lost. Which part of a
// prefill worker's cache was for it nobody tells: each of them gets as much.
func (p *Pairs) hold(now time.Time, l Loss, of int) {
	if l.Role != Decode {
		return
	}
	for _, w := range l.Hit {
		if w.Lease > 0 {
			p.Held = append(p.Held, held{ID: w.ID(), Life: w.Life, GPUs: len(w.GPUs), Share: 1 / float64(max(1, of)), Until: now.Add(w.Lease)})
		}
	}
}

// forget drops what is held no more: its lease is over, or its worker was started
// anew, and has none of it.
func (p *Pairs) forget(now time.Time, groups []Group) {
	lives := map[ID]string{}
	for _, g := range groups {
		for _, w := range g.Here {
			lives[w.ID()] = w.Life
		}
	}
	p.Held = slices.DeleteFunc(p.Held, func(h held) bool { return !now.Before(h.Until) || lives[h.ID] != h.Life })
}

// Stranded is a prefill worker that keeps KV cache for decode workers that are gone.
type Stranded struct {
	ID
	// Until is when the last of it is free again.
	Until time.Time `json:"until"`
	// Share is how much of its cache that is at most, from 0 to 1, and GPUs what that
	// is of its GPUs.
	Share float64 `json:"share"`
	GPUs  float64 `json:"gpus"`
}

// Stranded are those of this node at a moment, sorted by name.
func (p *Pairs) Stranded(now time.Time) []Stranded {
	byID := map[ID]Stranded{}
	for _, h := range p.Held {
		if !now.Before(h.Until) {
			continue
		}
		s := byID[h.ID]
		s.ID, s.Share = h.ID, min(1, s.Share+h.Share)
		s.GPUs = s.Share * float64(h.GPUs)
		if h.Until.After(s.Until) {
			s.Until = h.Until
		}
		byID[h.ID] = s
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b Stranded) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) })
}
