package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The pauses between two looks of a drain: short at first, for pods that end at
// once, then such that an API server bears it from every node.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 5 * time.Second
)

// shown bounds how many of a kind a text names.
const shown = 8

// drain is one run of a drain, or of a restart.
type drain struct {
	*Pods
	deed     remediate.Deed
	owe      remediate.Owe
	ceiling  time.Duration
	removals map[types.UID]*removal
	// owed are the pods out of rotation that are still there, by their words.
	owed []string
	left left
}

// left is what is still in the way after a look.
type left struct {
	seen bool // there was a look
	pods []string
	// Of a restart: those that eviction does nothing for, that nobody would let go, and
	// that were told to go by somebody else.
	fixed, refused, leaving []string
	workloads               []remediate.Holder
	services                []remediate.Holder
	unknown                 []string
}

func (l left) drained() bool {
	return l.seen && len(l.pods)+len(l.workloads)+len(l.unknown) == 0
}

// Do moves the pods of a drain off its GPUs, or off the node, and returns when nobody
// holds the GPUs but services of the node, who are in the outcome; or evicts those of a
// restart, and returns when that was granted, or refused, of all of them. It returns at the end of ctx in any case,
// with what is left. It honours disruption budgets as long as ctx lasts; a deed with
// Force does not.
func (p *Pods) Do(ctx context.Context, deed remediate.Deed, owe remediate.Owe) remediate.Outcome {
	d := &drain{Pods: p, deed: deed, owe: owe, ceiling: p.options.Ceiling, removals: map[types.UID]*removal{}, owed: slices.Clone(deed.Undo)}
	if deadline, ok := ctx.Deadline(); ok {
		d.ceiling = min(d.ceiling, time.Until(deadline)/2) // there has to be time to evict
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		d.round(ctx)
		switch {
		case ctx.Err() != nil:
			return d.undone(ctx.Err())
		case d.left.drained() && len(d.left.leaving) > 0:
			return d.outcome(remediate.Refused, join(d.left.leaving), nil)
		case d.left.drained():
			return d.outcome(remediate.Succeeded, d.left.served(), d.left.services)
		case len(d.left.fixed) > 0:
			return d.outcome(remediate.Unavailable, join(d.left.fixed), nil)
		case len(d.left.refused) > 0 && len(d.left.refused) == len(d.left.pods):
			return d.outcome(remediate.Refused, join(d.left.refused), nil)
		}
		early, err := d.rest(ctx, pause)
		if err != nil {
			return d.undone(err)
		}
		if early {
			pause = firstPause / 2
		}
	}
}

func (d *drain) outcome(r remediate.Result, text string, holders []remediate.Holder) remediate.Outcome {
	return remediate.Outcome{Deed: d.deed.ID, Result: r, Text: text, Holders: holders, Owed: d.owed}
}

// round looks once, and does what is due.
func (d *drain) round(ctx context.Context) {
	gpus := inventory(d.options.GPUs()).with(d.deed.GPUs)
	r := radius{deed: d.deed}
	for _, device := range d.deed.GPUs {
		r.gpus = append(r.gpus, gpus.name(device))
	}
	view, err := d.look(ctx, gpus, r.gpus, !d.deed.Whole)
	if ctx.Err() != nil {
		return // what the last look saw stands
	}
	if err != nil {
		d.left.unknown = []string{err.Error()}
		return
	}
	r.view = view
	d.owed = slices.DeleteFunc(d.owed, func(w string) bool { return view.pod(func(pod *corev1.Pod) bool { return word(pod) == w }) == nil })
	targets := r.targets()
	d.move(ctx, r, targets)
	d.left = left{seen: true}
	if d.deed.Kind == remediate.StepRestart {
		d.stays(targets)
		return
	}
	d.left.unknown = view.unknown
	d.left.workloads, d.left.services = r.holders(r.gpus)
	for _, pod := range targets {
		d.left.pods = append(d.left.pods, d.standing(pod))
	}
}

// stays notes who of a restart is still to go. An eviction that was granted is the end of
// it: the rest is the kubelet's.
func (d *drain) stays(targets []*corev1.Pod) {
	for _, pod := range targets {
		removal := d.removal(pod)
		switch {
		case removal.granted:
			continue
		case pod.DeletionTimestamp != nil:
			d.left.leaving = append(d.left.leaving, d.standing(pod))
			continue
		}
		d.left.pods = append(d.left.pods, d.standing(pod))
		if why := unfit(pod); why != "" {
			d.left.fixed = append(d.left.fixed, why)
		}
		if removal.refusal != "" {
			d.left.refused = append(d.left.refused, removal.refusal)
		}
	}
}

// unfit says why eviction does not restart a pod; empty where it does.
func unfit(pod *corev1.Pod) string {
	switch {
	case static(pod):
		return fmt.Sprintf("pod %s is the kubelet's own, which eviction does not restart", nameOf(pod))
	case metav1.GetControllerOf(pod) == nil:
		return fmt.Sprintf("pod %s has no owner that would make another", nameOf(pod))
	}
	return ""
}

// move takes all targets out of rotation before it evicts the first, so that no
// request goes from one to the next, and evicts those whose engines need not be waited
// for any more.
func (d *drain) move(ctx context.Context, r radius, targets []*corev1.Pod) {
	now := time.Now()
	due := slices.DeleteFunc(slices.Clone(targets), func(pod *corev1.Pod) bool {
		fixed := static(pod) || d.deed.Kind == remediate.StepRestart && unfit(pod) != ""
		return pod.DeletionTimestamp != nil || fixed || d.removal(pod).next.After(now)
	})
	for _, pod := range due {
		d.takeOut(ctx, pod)
	}
	for _, pod := range due {
		removal := d.removal(pod)
		if !d.ripe(removal) {
			continue
		}
		err := d.remove(ctx, pod, d.deed.Force)
		if ctx.Err() != nil {
			return // a request that was cut off says nothing
		}
		if err != nil {
			removal.retry(now, err)
			d.options.Log.Warn("a pod stays for now", "pod", nameOf(pod).String(), "again", removal.next, "error", err)
			continue
		}
		if removal.refusal = ""; !removal.granted {
			removal.granted = true
			d.owed = slices.DeleteFunc(d.owed, func(w string) bool { return w == word(pod) })
			d.tell(ctx, r, pod)
		}
	}
}

func (d *drain) removal(pod *corev1.Pod) *removal {
	if d.removals[pod.UID] == nil {
		d.removals[pod.UID] = &removal{wait: wait{uid: pod.UID}}
	}
	return d.removals[pod.UID]
}

// standing says why a pod is still there.
func (d *drain) standing(pod *corev1.Pod) string {
	switch r := d.removal(pod); {
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("pod %s is terminating", nameOf(pod))
	case r.refusal != "":
		return r.refusal
	case !r.over():
		return fmt.Sprintf("pod %s is out of rotation, and its engine still runs", nameOf(pod))
	}
	return fmt.Sprintf("pod %s is still there", nameOf(pod))
}

// undone is the outcome of a drain that was ended.
func (d *drain) undone(why error) remediate.Outcome {
	outcome := d.outcome(remediate.Unsuccessful, "", nil)
	if errors.Is(why, context.Canceled) {
		outcome.Result = remediate.Aborted
	}
	outcome.Holders = slices.Concat(d.left.workloads, d.left.services)
	outcome.Text = join(slices.Concat(d.left.pods, describe(d.left.workloads), d.left.unknown))
	if outcome.Text == "" {
		outcome.Text = "nobody was looked for: " + why.Error()
	}
	return outcome
}

// served names the services that a reset will have to deal with.
func (l left) served() string {
	if len(l.services) == 0 {
		return ""
	}
	return "left to the reset: " + join(describe(l.services))
}

func describe(holders []remediate.Holder) (texts []string) {
	for _, h := range holders {
		texts = append(texts, describeOne(h))
	}
	return texts
}

func describeOne(h remediate.Holder) string {
	if h.PID == 0 {
		return fmt.Sprintf("pod %s was given GPU %s", h.Pod, h.GPU)
	}
	text := fmt.Sprintf("process %d (%s)", h.PID, h.Process)
	if h.Pod != "" {
		text += " of pod " + h.Pod
	}
	text += " holds GPU " + h.GPU
	if h.Stuck {
		text += " and cannot be killed"
	}
	return text
}

// join puts the first few together and counts the others.
func join(texts []string) string {
	more := len(texts) - shown
	if more > 0 {
		texts = append(slices.Clone(texts[:shown]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
