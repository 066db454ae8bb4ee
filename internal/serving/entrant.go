package serving

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Entrants are the replicas as they come to their trials, by the last look: those that
// have an endpoint, and the pods that wait for their gate to be opened.
func (s *Serving) Entrants() []serving.Entrant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entrants
}

// entrant is how a pod comes to its trial; lacks is why nobody can tell whether it
// serves, and then only a gate holds it. Whom a drain or restart has taken out of
// rotation is theirs. Who was taken out for a stall alone served before.
func (s *Serving) entrant(pod *corev1.Pod, r serving.Replica, lacks string) serving.Entrant {
	e := serving.Entrant{Replica: r, Lacks: lacks}
	w := pods.WayOf(pod)
	switch {
	case w.Deed, lacks != "" && !w.Gated:
	case w.State == pods.Stalled && !s.options.Every:
		e.Proved = true
	case w.Gated && !w.Open:
		e.Held = true
	case w.Gated && started(pod).After(w.Since):
		e.Held = s.options.Every
	case w.Gated:
		e.Proved = true
	case w.Labelled && (s.options.Every || !w.Open): // held by an agent to which each life counted
		e.Held = s.lives[pod.UID].anew || !w.Open
		e.Proved = !e.Held
	}
	e.Failing = w.State == pods.Degraded && !saysLeft(pod)
	return e
}

// started is when the youngest container of a pod was; zero is not known.
func started(pod *corev1.Pod) (at time.Time) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && c.State.Running.StartedAt.After(at) {
			at = c.State.Running.StartedAt.Time
		}
	}
	return at
}

// seenLife is a life of a pod; anew says that it began since we look.
type seenLife struct {
	life string
	anew bool
}

// relive remembers the lives of pods. Of those that were there at the first look it is
// not known whether they have proved themselves, and they serve.
func (s *Serving) relive(all []*corev1.Pod) {
	lives := make(map[types.UID]seenLife, len(all))
	for _, pod := range all {
		now := seenLife{life: life(pod)}
		before, known := s.lives[pod.UID]
		now.anew = s.lives != nil && (!known || before.anew || before.life != now.life)
		lives[pod.UID] = now
	}
	s.lives = lives
}
