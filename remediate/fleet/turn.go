package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// TurnAnnotation says on the Lease of a serving group whose turn it was last to be
// restarted.
const TurnAnnotation = remediate.Prefix + "restarted"

// DefaultTurn is how long a worker may take to be restarted and ready again, before the
// others of its group go on without it.
const DefaultTurn = 10 * time.Minute

// Serving are the workers of a serving group that take turns: all pods of a namespace
// that a label selector fits.
type Serving struct{ Namespace, Selector string }

// String names the group in words.
func (s Serving) String() string { return "serving " + s.Namespace + ": " + s.Selector }

// turn is what this node has seen of a serving group's turns.
type turn struct {
	lease lease
	// last is the text of the turn that was seen last, and since when it is the same.
	last  string
	since time.Time
}

// takeTurns asks for the restarts, one after the other: each is seen by the next.
func (f *Fleet) takeTurns(ctx context.Context, asks []guard.Ask, answer *remediate.Reply) {
	for _, a := range asks {
		hold, err := f.takeTurn(ctx, a.Workload)
		if err != nil {
			hold = &guard.Hold{Guard: guard.Turns, Kind: guard.NoAnswer, Why: "its serving group cannot be asked: " + err.Error(), Until: "it answers"}
		}
		if hold != nil {
			answer.Held = append(answer.Held, remediate.Refusal{Ask: a, Holds: []guard.Hold{*hold}})
			continue
		}
		answer.Granted = append(answer.Granted, a)
	}
}

// takeTurn asks for one. The group's Lease is had while it is counted, and tells the
// others the turn before it is let go of.
func (f *Fleet) takeTurn(ctx context.Context, w fault.Workload) (*guard.Hold, error) {
	group, known := f.Serving(w)
	if !known {
		return &guard.Hold{Guard: guard.Turns, Kind: guard.Unknown, Why: "its serving group is not known", Until: "its pod is seen"}, nil
	}
	t := f.turnOf(group)
	if err := t.lease.giveBack(ctx); err != nil {
		return nil, err
	}
	holder, err := t.lease.take(ctx, group.String())
	if err != nil {
		return nil, err
	}
	if holder != "" {
		return &guard.Hold{Guard: guard.Turns, Kind: guard.InTurn, Why: holder + " is just asking for its turn", Until: "it has its answer, or is not heard of for " + f.times.lease.String()}, nil
	}
	all, err := f.workers(ctx, group)
	if err != nil {
		return nil, errors.Join(err, t.lease.giveBack(ctx))
	}
	last, open := t.see(f.times.turn)
	next, hold := guard.Take(all, last, open, w)
	if hold != nil || next == last {
		return hold, t.lease.giveBack(ctx)
	}
	return nil, t.give(ctx, next)
}

// turnOf gives what is known of a group's turns.
func (f *Fleet) turnOf(group Serving) *turn {
	if f.turns[group] == nil {
		f.turns[group] = &turn{lease: lease{client: f.Client.Leases, namespace: f.Namespace, node: f.Node, time: f.times.lease}}
	}
	return f.turns[group]
}

// see reads whose turn was last, and whether it may still be under way: nobody's clock
// is compared, it has to have been seen for so long. What cannot be read is nobody's.
func (t *turn) see(limit time.Duration) (last guard.Turn, open bool) {
	text := t.lease.have.Annotations[TurnAnnotation]
	if text != t.last {
		t.last, t.since = text, time.Now()
	}
	if json.Unmarshal([]byte(text), &last) != nil {
		return guard.Turn{}, false
	}
	return last, time.Since(t.since) < limit
}

// give writes down whose turn it is and lets go of the Lease, in one. It fails where
// another has taken the Lease meanwhile.
func (t *turn) give(ctx context.Context, next guard.Turn) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	l := &t.lease
	l.have.Annotations = with(l.have.Annotations, TurnAnnotation, string(text))
	l.have.Spec.HolderIdentity = nil
	if _, err := l.update(ctx, l.have); err != nil {
		return failed("give the turn", err)
	}
	l.have, t.last, t.since = nil, string(text), time.Now()
	return nil
}

// workers lists the pods of a group that have not ended for good.
func (f *Fleet) workers(ctx context.Context, group Serving) (all []guard.Worker, err error) {
	for next := ""; ; {
		part := &corev1.PodList{}
		err := f.Client.Core.Get().Namespace(group.Namespace).Resource("pods").Param("labelSelector", group.Selector).Param("limit", page).Param("continue", next).
			Do(ctx).Into(part)
		if err != nil {
			return nil, failed(fmt.Sprintf("list pods in %s with %s", group.Namespace, group.Selector), err)
		}
		for n := range part.Items {
			pod := &part.Items[n]
			if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue
			}
			all = append(all, guard.Worker{Workload: fault.Workload{Name: pod.Namespace + "/" + pod.Name, UID: string(pod.UID)}, Ready: ready(pod), Stays: stays(pod)})
		}
		if next = part.Continue; next == "" {
			return all, nil
		}
	}
}

// stays says whether nobody makes a pod anew: it has no owner, or is the kubelet's own.
func stays(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || metav1.GetControllerOf(pod) == nil
}

// ready says whether a pod gets requests, and will.
func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func restarts(a guard.Ask) bool { return a.Action == guard.Restart }
