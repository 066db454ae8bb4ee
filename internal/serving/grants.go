package serving

import (
	"context"
	"log/slog"
	"sync"
	"time"

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
	// trouble is what the log has been told.
	trouble string

	mu    sync.Mutex
	known map[types.NamespacedName][]string
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
	known, whole := map[types.NamespacedName][]string{}, true
	for _, grant := range answer {
		whole = whole && len(grant.Unknown) == 0
		if len(grant.GPUs) > 0 {
			known[grant.Pod] = grant.GPUs
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = known
	g.count(whole)
	return whole
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
	g.trouble = text
}

// of are the GPUs of a pod.
func (g *grants) of(name types.NamespacedName) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[name]
}
