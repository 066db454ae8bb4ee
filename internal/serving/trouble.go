package serving

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// troubles are what keeps pods from being followed at present, by what is followed: the
// first that was said since they were last.
type troubles struct {
	log *slog.Logger

	mu  sync.Mutex
	now map[string]string
}

func newTroubles(log *slog.Logger) *troubles { return &troubles{log: log, now: map[string]string{}} }

// fails takes in that a list or a watch was not given. A right that is missing is told to
// the log; of what passes by itself the reflector tells.
func (t *troubles) fails(ctx context.Context, what string, err error) {
	right := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	text := fmt.Sprintf("%s cannot be followed: %v", what, err)
	if right {
		text += "; deploy/serving.yaml has the rights"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil || t.now[what] != "" {
		return
	}
	if t.now[what] = text; right {
		t.log.Error("a right is missing", "why", text)
	}
}

// over says that one is followed, or that nobody wants to.
func (t *troubles) over(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.now, what)
}

// Troubles are what keeps pods from being followed at present, and why the kubelet does not
// say who was given which GPU, in words.
func (s *Serving) Troubles() (all []string) {
	if why := s.grants.why(); why != "" {
		all = append(all, "who was given which GPU is not known: "+why)
	}
	s.troubles.mu.Lock()
	defer s.troubles.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(s.troubles.now)) {
		all = append(all, s.troubles.now[what])
	}
	return all
}
