package serving

import "time"

// Standing is how a replica stands with those who send requests.
type Standing uint8

// The standings.
const (
	// InService: it may have requests.
	InService Standing = iota
	// OnProbation: it may not, before its trial is over.
	OnProbation
	// Degraded: it may, and a canary's fail.
	Degraded
)

// Stand is what is to be said of a replica.
type Stand struct {
	Replica  Replica
	Standing Standing
	// Why stays the same while the standing does, but for what is found to be missing.
	Why string
}

// missingFor is how long something may be missing before that is told: who was given
// which GPU is known a moment after the pod is.
const missingFor = 15 * time.Second

// Stands says how the replicas stand, sorted by name. Left out are those that serve as
// they like, until they have shown that they do.
func (t Trials) Stands(now time.Time) (all []Stand) {
	for _, one := range t.List() {
		s := Stand{Replica: one.Replica}
		switch {
		case one.Open() && one.Failing.IsZero():
		case one.Open():
			s.Standing, s.Why = Degraded, one.Why
		case !one.Held:
			continue
		default:
			s.Standing, s.Why = OnProbation, one.asks(now)
		}
		all = append(all, s)
	}
	return all
}

// asks is what a trial asks of a replica.
func (t Trial) asks(now time.Time) string {
	switch {
	case t.Lacks != "" && now.Sub(t.Since) >= missingFor:
		return "nobody can tell whether it serves: " + t.Lacks
	case t.Canary != nil:
		return "it has to answer two requests of a canary in a row first"
	}
	return "its engines have to be seen in order twice in a row first"
}
