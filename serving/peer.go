package serving

import (
	"slices"
	"time"
)

// peer is what is remembered of a worker that others work with.
type peer struct {
	Name string
	// Life is empty where it does not run.
	Life string `json:",omitempty"`
	// Ready is when this life was seen ready first; zero is never. Before that nobody was
	// sent to it, and nobody has handles of its memory.
	Ready time.Time `json:",omitzero"`
	// Again says that it had another life before.
	Again bool `json:",omitempty"`
}

// peer is what was remembered of one; zero where that is nothing.
func (was *pair) peer(role Role, uid string) peer {
	if was == nil {
		return peer{}
	}
	return was.Peers[role][uid]
}

// next is what is to be remembered of it after one look.
func (was peer) next(now time.Time, w Worker) peer {
	next := peer{Name: w.Name, Life: w.Life, Again: was.Again}
	switch {
	case was.Life == w.Life:
		next.Ready = was.Ready
	case was.Life != "":
		next.Again = true
	}
	if next.Ready.IsZero() && w.Life != "" && !w.Unready {
		next.Ready = now
	}
	return next
}

// counts says whether the end of its life is a loss. One that comes and goes is not let
// take its peers with it each time: it has to have been ready for settle.
func (was peer) counts(now time.Time, settle time.Duration) bool {
	return was.Life != "" && !was.Ready.IsZero() && (!was.Again || now.Sub(was.Ready) >= settle)
}

// ran counts those of a role that ran.
func (was *pair) ran(role Role) (n int) {
	for _, p := range was.Peers[role] {
		if p.Life != "" {
			n++
		}
	}
	return n
}

// recall has workers of which nothing is heard at the moment live as they did.
func (was *pair) recall(g Group) Group {
	if was == nil {
		return g
	}
	as := func(all []Worker, life func(Worker) string) []Worker {
		all = slices.Clone(all)
		for i, w := range all {
			if w.Unheard {
				all[i].Life = life(w)
			}
		}
		return all
	}
	peers := make(map[Role][]Worker, len(g.Peers))
	for role, all := range g.Peers {
		peers[role] = as(all, func(w Worker) string { return was.peer(role, w.UID).Life })
	}
	g.Here, g.Peers = as(g.Here, func(w Worker) string { return was.Here[w.UID] }), peers
	return g
}

// Remembered are the groups with their peers as they were known last. Of a peer that is
// its name, UID, role and life.
func (p *Pairs) Remembered() (groups []Group) {
	for name, was := range p.Groups {
		g := Group{Name: name, Peers: map[Role][]Worker{}}
		for role, all := range was.Peers {
			for uid, one := range all {
				g.Peers[role] = append(g.Peers[role], Worker{Name: one.Name, UID: uid, Role: role, Life: one.Life})
			}
		}
		groups = append(groups, g)
	}
	return groups
}
