package fault

import (
	"slices"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// flurries gathers the link errors of a kind, those together that began within
// EchoWindow of one before: what came days apart has nothing to do with each other.
func (j *Judge) flurries(kind func(*episode) bool) (all [][]*episode) {
	var es []*episode
	for _, e := range j.open {
		if e.PCI != (xidparse.PCI{}) && kind(e) {
			es = append(es, e)
		}
	}
	slices.SortFunc(es, func(a, b *episode) int { return a.Begun.Compare(b.Begun) })
	for n, e := range es {
		if n == 0 || e.Begun.Sub(es[n-1].Begun) > EchoWindow {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], e)
	}
	return all
}

// toldByLink5 says whether an NVLink 5 error is of a link's failure, and no echo. One
// that blames the far end may be an echo, and speaks for its link all the same.
func (e *episode) toldByLink5() bool { return e.Link5.speaks() && (e.Root == nil || e.Link5.Peer) }

// toldBy74 says whether an XID 74 stands for itself and acts.
func (e *episode) toldBy74() bool {
	return e.Class == XID74 && e.Root == nil && e.Triage != nil && e.Triage.Acts()
}

// failure is what is wrong with the node's links by their state and by some errors.
func (j *Judge) failure(errors []*episode) nvlink.Failure {
	f := j.broken()
	for _, e := range errors {
		code, _ := e.Class.Code()
		one := nvlink.LinkError{GPU: nvlink.Address(e.PCI), XID: code, Link: -1, Root: e.Link5 == nil || e.Link5.Action >= Reset, Peer: e.Link5 != nil && e.Link5.Peer}
		for link := range e.Links {
			one.Link = link
			f.Errors = append(f.Errors, one)
		}
		if len(e.Links) == 0 {
			f.Errors = append(f.Errors, one)
		}
	}
	return f
}

// reaches says of each link error how far it reaches, with what came beside it, and of
// the newest of NVLink 5 for what has no such error of its own.
func (j *Judge) reaches() (of map[key]nvlink.Reach, latest nvlink.Reach) {
	of = map[key]nvlink.Reach{}
	for _, es := range j.flurries((*episode).toldBy74) {
		if r, ok := j.failure(es).Board(j.shape()); ok {
			for _, e := range es {
				of[e.key()] = r
			}
		}
	}
	flurries := j.flurries((*episode).toldByLink5)
	root := guilty(flurries)
	for _, es := range flurries {
		latest = j.failure(es).Judge(j.shape(), j.domain)
		for _, e := range es {
			of[e.key()] = j.besides(e, latest, root)
		}
	}
	return of, latest
}

// guilty gives the oldest error for which a GPU of this node is to blame itself, as long
// as that is not cured; nil for none.
func guilty(flurries [][]*episode) *episode {
	for _, es := range flurries {
		for _, e := range es {
			if e.claims() {
				return e
			}
		}
	}
	return nil
}

// claims says whether an error is its own GPU's, and not over.
func (e *episode) claims() bool {
	return e.Root == nil && e.Link5.Action >= Reset && !e.Link5.Peer && e.Cured.IsZero()
}

// besides lets an error that came beside a guilty GPU of the same node, or after it, be
// that one's: it blames the far end, or only saw it fail, and no neighbour claims it.
func (j *Judge) besides(e *episode, r nvlink.Reach, guilty *episode) nvlink.Reach {
	own := r.Extent <= nvlink.ExtentGPU && (!r.Victim || !r.Sure)
	if guilty == nil || guilty.Begun.Sub(e.Begun) > EchoWindow || !own || e.Link5.Action >= Reset && !e.Link5.Peer {
		return r
	}
	return victimOf(j.named(guilty.PCI).String())
}
