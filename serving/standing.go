package serving

import (
	"cmp"
	"strings"
	"time"
)

// Standing is how a replica stands with those who send requests.
type Standing uint8

// The standings.
const (
	// InService: it may have requests.
	InService Standing = iota
	// OnProbation: it may not, before its trial is over.
	OnProbation
	// Degraded: it may, and a canary's fail, or it was left by a peer.
	Degraded
	// Stuck: it may not, while its engine does not get on.
	Stuck
)

// Stand is what is to be said of a replica.
type Stand struct {
	Replica  Replica
	Standing Standing
	// Why stays the same while the standing and the kind of its reason do.
	Why string
}

// missingFor is how long something may be missing before that is told: who was given
// which GPU is known a moment after the pod is.
const missingFor = 15 * time.Second

// Stands says how the replicas stand, sorted by name, where some were left by a peer,
// whose name it is, and may serve what is gone. Left out are those that serve as they
// like, until they have shown that they do, or that they do not.
func (t Trials) Stands(now time.Time, left map[ID]string) (all []Stand) {
	for _, one := range t.List() {
		s := Stand{Replica: one.Replica}
		peer := left[one.Replica.ID()]
		switch {
		case one.Waits():
			s.Standing, s.Why = OnProbation, one.asks(now)
		case peer != "":
			s.Standing, s.Why = Degraded, leftBy(peer)
		case !one.Failing.IsZero():
			s.Standing, s.Why = Degraded, cmp.Or(one.words.text, "it fails its canary")
		case !one.Open():
			continue
		}
		all = append(all, s)
	}
	return all
}

// Untried says how those of the node's workers stand that come to no trial, since no
// endpoint of theirs is known: who was left by a peer, and who is no more.
func (t Trials) Untried(here []Worker, left map[ID]string) (all []Stand) {
	for _, w := range here {
		peer := left[w.ID()]
		if one := t[w.Name]; one != nil && one.Replica.ID() == w.ID() || peer == "" && !w.Degraded {
			continue
		}
		s := Stand{Replica: Replica{Name: w.Name, UID: w.UID, GPUs: w.GPUs}}
		if peer != "" {
			s.Standing, s.Why = Degraded, leftBy(peer)
		}
		all = append(all, s)
	}
	return all
}

// mayServeFrom begins the reason of one that was left by a peer.
const mayServeFrom = "it may serve from "

func leftBy(peer string) string { return mayServeFrom + peer + ", which is gone" }

// SaysLeft says whether the reason of a standing is that of one that was left by a peer.
func SaysLeft(why string) bool { return strings.HasPrefix(why, mayServeFrom) }

// asks is what a trial asks of a replica, and why it was not passed.
func (t Trial) asks(now time.Time) string {
	if t.Lacks != "" && now.Sub(t.Since) >= missingFor {
		return "nobody can tell whether it serves: " + t.Lacks
	}
	asks := "its engines have to be seen in order twice in a row first"
	if t.Canary != nil {
		asks = "it has to answer two requests of a canary in a row first"
	}
	if t.words.text != "" {
		asks += "; " + t.words.text
	}
	return asks
}
