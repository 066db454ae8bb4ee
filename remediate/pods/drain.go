package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// drain is one run of a drain.
type drain struct {
	*Pods
	deed     remediate.Deed
	removals map[types.UID]*removal
	left     left
}

// left is what is still in the way after a look.
type left struct {
	seen      bool // there was a look
	pods      []string
	workloads []remediate.Holder
	services  []remediate.Holder
	unknown   []string
}

func (l left) drained() bool {
	return l.seen && len(l.pods)+len(l.workloads)+len(l.unknown) == 0
}

// Drain moves the pods of a deed off its GPUs, or off the node, and returns when
// nobody holds the GPUs but services of the node, who are in the outcome; or at the
// end of ctx, with what is left. It honours disruption budgets as long as ctx
// lasts; a deed with Force does not.
func (p *Pods) Drain(ctx context.Context, deed remediate.Deed) remediate.Outcome {
	d := &drain{Pods: p, deed: deed, removals: map[types.UID]*removal{}}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		d.round(ctx)
		if ctx.Err() == nil && d.left.drained() {
			return remediate.Outcome{Deed: deed.ID, Result: remediate.Succeeded, Text: d.left.served(), Holders: d.left.services}
		}
		select {
		case <-ctx.Done():
			return d.undone(ctx.Err())
		case <-time.After(pause):
		}
	}
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
	targets := r.targets()
	d.move(ctx, r, targets)
	d.left = left{seen: true, unknown: view.unknown}
	d.left.workloads, d.left.services = r.holders(r.gpus)
	for _, pod := range targets {
		d.left.pods = append(d.left.pods, d.standing(pod))
	}
}

// move takes all targets out of rotation before it evicts the first, so that no
// request goes from one to the next.
func (d *drain) move(ctx context.Context, r radius, targets []*corev1.Pod) {
	now := time.Now()
	due := slices.DeleteFunc(slices.Clone(targets), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || d.removal(pod).next.After(now)
	})
	for _, pod := range due {
		if err := d.outOfRotation(ctx, pod); err != nil {
			d.options.Log.Warn("a pod still gets requests", "pod", nameOf(pod).String(), "error", err)
		}
	}
	for _, pod := range due {
		removal := d.removal(pod)
		if !removal.told {
			removal.told = true
			d.tell(ctx, r, pod)
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
		removal.refusal = ""
	}
}

func (d *drain) removal(pod *corev1.Pod) *removal {
	if d.removals[pod.UID] == nil {
		d.removals[pod.UID] = &removal{}
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
	}
	return fmt.Sprintf("pod %s is still there", nameOf(pod))
}

// undone is the outcome of a drain that was ended.
func (d *drain) undone(why error) remediate.Outcome {
	outcome := remediate.Outcome{Deed: d.deed.ID, Result: remediate.Unsuccessful}
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
