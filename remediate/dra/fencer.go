package dra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// Driver is the name of NVIDIA's driver for GPUs.
const Driver = "gpu.nvidia.com"

// errNever is in the errors that another trial will not change soon.
var errNever = errors.New("not possible here")

// Fencer fences devices of one node. Its methods are called one at a time.
type Fencer struct {
	node string
	api  rest.Interface
	// rules and slices are the versions of the API that serve them, empty until one
	// was found.
	rules, slices string
}

// New asks the API server nothing.
func New(node string, custom *apiserver.Custom) *Fencer {
	return &Fencer{node: node, api: custom.Kinds}
}

// Fence makes the rules of the wanted fences stand, takes away those of the fences that
// end, and every other of this node's. It says of each what came of it.
func (f *Fencer) Fence(ctx context.Context, want []remediate.Fence) ([]remediate.Fenced, error) {
	stand, err := f.list(ctx)
	if errors.Is(err, errNever) {
		return refuse(want, err), nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the DeviceTaintRules of node %s: %w", f.node, err)
	}
	var all []remediate.Fenced
	needed := map[string]bool{}
	for _, w := range want {
		if w.Ends {
			continue
		}
		one, err := f.one(ctx, w, stand)
		if err != nil {
			return nil, err // nothing is removed before all is known
		}
		for _, name := range one.Rules {
			needed[name] = true
		}
		all = append(all, one)
	}
	ended, err := f.end(ctx, ending(want, stand, needed))
	return append(all, ended...), err
}

// one makes one fence stand. One that the node relies on is only looked at: it may be
// gone, or changed, and is not made anew before the plan has heard of that.
func (f *Fencer) one(ctx context.Context, w remediate.Fence, stand map[string]rule) (remediate.Fenced, error) {
	one := remediate.Fenced{Fence: w}
	var err error
	if w.InForce() {
		one.Gone, one.Changed, err = f.look(ctx, w, stand)
	} else {
		one.Rules, err = f.make(ctx, w, stand)
	}
	switch {
	case errors.Is(err, errNever):
		return remediate.Fenced{Fence: w, Why: err.Error()}, nil
	case err != nil:
		return one, fmt.Errorf("fence %s: %w", w.Key(), err)
	}
	return one, nil
}

// look compares the rules of a fence with what they should be.
func (f *Fencer) look(ctx context.Context, w remediate.Fence, stand map[string]rule) (gone bool, changed string, err error) {
	for _, name := range w.Rules {
		r, listed := stand[name]
		if !listed {
			r, err = f.read(ctx, name)
		}
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		if err != nil {
			return false, "", never(err)
		}
		if changed = r.differs(f.rule(strings.TrimPrefix(name, prefix(f.node)), w)); changed != "" {
			return false, changed, nil
		}
	}
	return false, "", nil
}

// make makes the rules of a fence that are not there yet.
func (f *Fencer) make(ctx context.Context, w remediate.Fence, stand map[string]rule) (names []string, err error) {
	devices, err := f.devices(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		r := f.rule(d, w)
		if err := f.ensure(ctx, r, stand); err != nil {
			return nil, err
		}
		names = append(names, r.Metadata.Name)
	}
	return names, nil
}

// ending gives the fences that have to go: those that the plan knows, and what another
// life of the agent has left behind.
func ending(want []remediate.Fence, stand map[string]rule, needed map[string]bool) (all []remediate.Fence) {
	isNeeded := func(name string) bool { return needed[name] }
	known := map[string]bool{}
	for _, w := range want {
		if !w.Ends {
			continue
		}
		for _, name := range w.Rules {
			known[name] = true
		}
		w.Rules = slices.DeleteFunc(slices.Clone(w.Rules), isNeeded)
		all = append(all, w)
	}
	for _, name := range slices.Sorted(maps.Keys(stand)) {
		if !needed[name] && !known[name] {
			all = append(all, remediate.Fence{GPU: stand[name].Metadata.Annotations[gpuAnnotation], Rules: []string{name}, Ends: true})
		}
	}
	return all
}

// end takes fences away, and says of each whether that could be done.
func (f *Fencer) end(ctx context.Context, fences []remediate.Fence) (all []remediate.Fenced, err error) {
	for _, w := range fences {
		one := remediate.Fenced{Fence: w, Gone: true}
		for _, name := range w.Rules {
			err := never(f.remove(ctx, name))
			if errors.Is(err, errNever) {
				one.Gone, one.Why = false, err.Error()
			} else if err != nil {
				return all, fmt.Errorf("lift the fence of %s: %w", w.Key(), err)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

func refuse(want []remediate.Fence, why error) (all []remediate.Fenced) {
	for _, w := range want {
		all = append(all, remediate.Fenced{Fence: w, Why: why.Error()})
	}
	return all
}

// never marks what another trial will not change soon: no right, no such API, or a
// content that is refused.
func never(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	switch status.Status().Code {
	case http.StatusForbidden, http.StatusUnauthorized, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusBadRequest:
		return fmt.Errorf("%w: %w", errNever, err)
	}
	return err
}
