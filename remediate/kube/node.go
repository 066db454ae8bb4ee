package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

const (
	// races is how often a write that somebody else was faster than is tried
	// anew before the caller hears of it.
	races = 4
	// raceDelay is the most that one such trial waits, at random, so that two
	// writers do not meet again.
	raceDelay = 50 * time.Millisecond
)

// Options say which Node, and where.
type Options struct {
	// Name of the Node.
	Name string
	// Config comes from the function Config. Its rate limits are replaced.
	Config *rest.Config
	// Log hears of the watch's troubles. Errors of Apply and Emit are returned
	// and not logged.
	Log *slog.Logger
	// Observe may be nil.
	Observe apiserver.Observe
	// WatchDelay is the upper bound of the random time after which Watch
	// begins, so that a fleet which starts at once does not ask at once.
	WatchDelay time.Duration
}

// Node is our own Node in the API. Its methods may be called from any
// goroutine.
type Node struct {
	options Options
	client  client
	mirror  mirror

	// writing lets one Apply at a time decide and write.
	writing sync.Mutex
}

// New prepares a client and asks the API server nothing.
func New(options Options) (*Node, error) {
	if options.Name == "" {
		return nil, errors.New("no node name")
	}
	c, err := apiserver.New(options.Config, options.Observe)
	if err != nil {
		return nil, fmt.Errorf("client for node %s: %w", options.Name, err)
	}
	return &Node{options: options, client: client{c}}, nil
}

// Apply makes the Node say what is wanted, in at most two writes, and returns
// what it says then. Where it says so already nothing is written. A Node that
// is not there is not an error: the Observed says that it does not exist.
//
// With an error the Observed is the newest that is known, and part of the wish
// may have been applied; the cordon goes first.
func (n *Node) Apply(ctx context.Context, want remediate.Desired) (remediate.Observed, error) {
	n.writing.Lock()
	defer n.writing.Unlock()
	have, err := n.read(ctx)
	for trial := 0; err == nil && have.exists() && !want.Look; trial++ {
		have, err = n.write(ctx, have, want)
		if !raced(err) || trial == races {
			break
		}
		if err = pause(ctx, rand.N(raceDelay)); err == nil {
			have, err = n.get(ctx)
		}
	}
	if err != nil {
		err = fmt.Errorf("apply to node %s: %w", n.options.Name, err)
	}
	if Classify(err) == Forbidden {
		err = fmt.Errorf("%w: %w", remediate.ErrForbidden, err)
	}
	return have.observed(), err
}

// read returns the Node from the watch, or asks for it while there is none.
func (n *Node) read(ctx context.Context) (view, error) {
	if have, ok := n.mirror.current(); ok {
		return have, nil
	}
	return n.get(ctx)
}

func (n *Node) get(ctx context.Context) (view, error) {
	node, err := n.client.getNode(ctx, n.options.Name)
	if apierrors.IsNotFound(err) {
		return view{}, nil
	}
	if err != nil {
		return view{}, fmt.Errorf("get: %w", err)
	}
	return viewOf(node), nil
}

// write makes the two writes, as far as they are needed.
func (n *Node) write(ctx context.Context, have view, want remediate.Desired) (view, error) {
	have, err := n.writeSpec(ctx, have, want)
	// Without the right to cordon the conditions may still be told.
	if err != nil && Classify(err) != Forbidden {
		return have, err
	}
	have, statusErr := n.writeStatus(ctx, have, want)
	return have, errors.Join(err, statusErr)
}

func (n *Node) writeSpec(ctx context.Context, have view, want remediate.Desired) (view, error) {
	to, err := settle(have, want)
	if err != nil {
		return have, err
	}
	steps := specPatch(have, to)
	if steps == nil {
		return have, nil
	}
	body, err := json.Marshal(steps)
	if err != nil {
		return have, fmt.Errorf("encode patch: %w", err)
	}
	node, err := n.client.patchNode(ctx, n.options.Name, "", types.JSONPatchType, body)
	if err != nil {
		return have, fmt.Errorf("patch metadata and spec: %w", err)
	}
	return n.wrote(node), nil
}

func (n *Node) writeStatus(ctx context.Context, have view, want remediate.Desired) (view, error) {
	body, err := statusPatch(have, want, time.Now())
	if body == nil || err != nil {
		return have, err
	}
	node, err := n.client.patchNode(ctx, n.options.Name, "status", types.StrategicMergePatchType, body)
	if err != nil {
		return have, fmt.Errorf("patch status: %w", err)
	}
	return n.wrote(node), nil
}

// wrote keeps what a write has left, which the watch will say only later.
func (n *Node) wrote(node *corev1.Node) view {
	have := viewOf(node)
	n.mirror.wrote(have)
	return have
}

// raced says whether a write failed because the Node is not what it was taken
// for. A JSON patch whose test fails is answered as invalid.
func raced(err error) bool {
	switch Classify(err) {
	case Conflict, Invalid, NotFound:
		return true
	}
	return false
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
