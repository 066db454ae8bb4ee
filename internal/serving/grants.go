package serving

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

const (
	// pause is the time between two questions to the kubelet, at least: many pods change
	// at once when a node starts.
	pause = 3 * time.Second
	// again is when it is asked once more where an answer was not all of it: a GPU may
	// not be known to the driver's child yet.
	again = 10 * time.Second
	// missedFor is how long a pod that is still there keeps what it was given where the
	// kubelet does not tell of it: one that has just started does not know all of them.
	missedFor = time.Minute
)

// grants is who was given which GPUs, as far as the kubelet has said.
type grants struct {
	ask func(context.Context) ([]pods.Grant, error)
	log *slog.Logger
	due chan struct{}
	// answered is closed when the kubelet has answered, and all GPUs in the answer were
	// known or it was its second.
	answered chan struct{}
	answers  int
	begun    bool

	mu    sync.Mutex
	known map[types.NamespacedName]*given
	// trouble is why there was no answer the last time, as the log has been told.
	trouble string
}

// given is what a pod was given. The kubelet knows it by its name alone; uid is that of
// the pod which had the name last. Missed is since when the answers lack it, zero while
// they have it.
type given struct {
	gpus   []string
	uid    types.UID
	missed time.Time
}

func newGrants(o Options) *grants {
	return &grants{ask: o.Grants, log: o.Log, due: make(chan struct{}, 1), answered: make(chan struct{})}
}

// changed has the kubelet asked.
func (g *grants) changed() {
	select {
	case g.due <- struct{}{}:
	default: // it will be
	}
}

// run asks when it is due, and again where an answer was not all of it, until ctx ends;
// sooner while nothing is known yet.
func (g *grants) run(ctx context.Context) {
	var once <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.due:
		case <-once:
		}
		once = nil
		switch whole := g.look(ctx); {
		case !g.begun:
			once = time.After(0)
		case !whole:
			once = time.After(again)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// look asks once. What was known stays where there is no answer. It returns whether
// nothing is left to be asked.
func (g *grants) look(ctx context.Context) bool {
	answer, err := g.ask(ctx)
	if ctx.Err() != nil {
		return false
	}
	g.tell(err)
	if err != nil {
		return false
	}
	known, whole := map[types.NamespacedName]*given{}, true
	for _, grant := range answer {
		whole = whole && len(grant.Unknown) == 0
		if len(grant.GPUs) > 0 {
			known[grant.Pod] = &given{gpus: grant.GPUs}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	missed := g.miss(time.Now(), known)
	g.known = known
	g.count(whole)
	return whole && !missed
}

// miss keeps in an answer what was known before and is not in it, for a while, and says
// whether there is any.
func (g *grants) miss(now time.Time, known map[types.NamespacedName]*given) (any bool) {
	for name, had := range g.known {
		if told := known[name]; told != nil {
			told.uid = had.uid
			continue
		}
		if had.missed.IsZero() {
			had.missed = now
		}
		if now.Sub(had.missed) < missedFor {
			known[name], any = had, true
		}
	}
	return any
}

// count counts an answer. After the first the driver's child may still have to tell the
// GPUs.
func (g *grants) count(whole bool) {
	if g.answers++; g.begun || !whole && g.answers == 1 {
		return
	}
	g.begun = true
	close(g.answered)
}

// tell logs what is wrong, when that is something else than before.
func (g *grants) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != g.trouble {
		g.log.Warn("who was given which GPU is not known", "error", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = text
}

// why is why the kubelet has not answered the last time; empty where it has.
func (g *grants) why() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trouble
}

// of are the GPUs of a pod that is there. What an answer lacks is still the pod's of that
// time, and not that of another with its name.
func (g *grants) of(pod *corev1.Pod) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	has := g.known[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
	switch {
	case has == nil, !has.missed.IsZero() && has.uid != pod.UID:
		return nil
	case has.missed.IsZero():
		has.uid = pod.UID
	}
	return has.gpus
}
