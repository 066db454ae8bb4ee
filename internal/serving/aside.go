package serving

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// A watch by labels says of a pod that has lost a label, which somebody may do to look
// into it, the same as of one that is deleted. Its peers still hold handles of its memory,
// and lose nothing before it ends. So each that is missing is looked for by its name.

// membership is a role in a group.
type membership struct {
	group string
	role  serving.Role
}

// knownBefore are the workers that ran, by the groups as they were known last.
func knownBefore(groups []serving.Group) map[membership]map[types.UID]types.NamespacedName {
	known := map[membership]map[types.UID]types.NamespacedName{}
	for _, g := range groups {
		for role, all := range g.Peers {
			known[membership{g.Name, role}] = thatRun(all)
		}
	}
	return known
}

// thatRun are the names of those that run, or may.
func thatRun(all []serving.Worker) map[types.UID]types.NamespacedName {
	running := map[types.UID]types.NamespacedName{}
	for _, w := range all {
		if namespace, name, ok := strings.Cut(w.Name, "/"); ok && (w.Life != "" || w.Unheard) {
			running[types.UID(w.UID)] = types.NamespacedName{Namespace: namespace, Name: name}
		}
	}
	return running
}

// findAside adds the workers that are in their group no more by their labels, and still
// there. A role of which that cannot be told is not known.
func (f *follower) findAside(ctx context.Context, byName map[string]*serving.Group, now time.Time) {
	known := map[membership]map[types.UID]types.NamespacedName{}
	for _, g := range byName {
		for _, role := range []serving.Role{serving.Prefill, serving.Decode} {
			at := membership{g.Name, role}
			all, told := g.Peers[role]
			if !told {
				known[at] = f.known[at]
				continue
			}
			aside, err := f.aside(ctx, all, f.known[at], role, now)
			if err != nil {
				f.options.Log.Warn("it is not known whether a worker that has left its group is gone", "group", g.Name, "error", err)
				known[at] = f.known[at]
				delete(g.Peers, role)
				continue
			}
			g.Peers[role] = sorted(append(all, aside...))
			known[at] = thatRun(g.Peers[role])
		}
	}
	f.known = known
}

// aside are those of some that ran that are not among all, and still run.
func (f *follower) aside(ctx context.Context, all []serving.Worker, ran map[types.UID]types.NamespacedName, role serving.Role, now time.Time) (found []serving.Worker, err error) {
	listed := map[types.UID]bool{}
	for _, w := range all {
		listed[types.UID(w.UID)] = true
	}
	for uid, name := range ran {
		if listed[uid] {
			continue
		}
		pod, err := f.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, err
		}
		if w := peer(pod, role, now); pod.UID == uid && (w.Life != "" || w.Unheard) {
			w.Aside = true
			found = append(found, w)
		}
	}
	return found, nil
}

// get reads a pod by its name.
func (f *follower) get(ctx context.Context, name types.NamespacedName) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	pod := &corev1.Pod{}
	if err := f.client.Get().Namespace(name.Namespace).Resource("pods").Name(name.Name).Do(ctx).Into(pod); err != nil {
		return nil, fmt.Errorf("get pod %s: %w", name, err)
	}
	return pod, nil
}
