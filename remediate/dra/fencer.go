package dra

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

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

// Fence makes the rules of the wanted fences stand, and no other of this node's. It
// says of each what came of it.
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
		one, err := f.one(ctx, w, stand)
		if err != nil {
			return nil, err // nothing is removed before all is known
		}
		for _, name := range one.Rules {
			needed[name] = true
		}
		all = append(all, one)
	}
	for _, name := range stand {
		if needed[name] {
			continue
		}
		if err := f.remove(ctx, name); err != nil {
			return all, err
		}
	}
	return all, nil
}

// one makes one fence stand, or says that somebody has taken it away.
func (f *Fencer) one(ctx context.Context, w remediate.Fence, stand []string) (remediate.Fenced, error) {
	if len(w.Rules) > 0 {
		gone := slices.ContainsFunc(w.Rules, func(name string) bool { return !slices.Contains(stand, name) })
		return remediate.Fenced{Fence: w, Gone: gone}, nil
	}
	names, err := f.make(ctx, w, stand)
	if errors.Is(err, errNever) {
		return remediate.Fenced{Fence: w, Why: err.Error()}, nil
	}
	if err != nil {
		return remediate.Fenced{}, fmt.Errorf("fence %s: %w", w.Key(), err)
	}
	w.Rules = names
	return remediate.Fenced{Fence: w}, nil
}

// make makes the rules of a fence that are not there yet.
func (f *Fencer) make(ctx context.Context, w remediate.Fence, stand []string) (names []string, err error) {
	devices, err := f.devices(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		r := f.rule(d, w)
		if names = append(names, r.Metadata.Name); slices.Contains(stand, r.Metadata.Name) {
			continue
		}
		if err := f.create(ctx, r); err != nil {
			return nil, err
		}
	}
	return names, nil
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
