package request

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// onReset is a bench that asks for resets by a resource, with this policy.
func onReset(t *testing.T, keep Keep) *bench {
	t.Helper()
	kinds(t)
	b := newBench(t)
	f := load(t, examples+"reset-nvsentinel.yaml")
	f.Keep = keep
	b.by(t, f)
	return b
}

func TestResourceIsKept(t *testing.T) {
	tests := []struct {
		keep            Keep
		success, failed bool // whether one of these stays
	}{
		{KeepNone, false, false},
		{KeepFailed, false, true},
		{KeepAll, true, true},
	}
	for _, test := range tests {
		t.Run(string(test.keep), func(t *testing.T) {
			b := onReset(t, test.keep)
			in := b.resources(janitor, "gpuresets", "")
			for phase, stays := range map[string]bool{"Succeeded": test.success, "Failed": test.failed} {
				d := deed(remediate.StepReset)
				d.ID = phase
				b.undo = nil
				ended := b.begin(t, d)
				name := b.created(t, in, d).GetName()
				tell(t, in, name, `{"phase":"`+phase+`"}`)
				<-ended
				gone(t, in, name, !stays)
				d.Undo = b.undo
				must(t, b.Undo(t.Context(), d))
				gone(t, in, name, !stays)
			}
		})
	}
}

// A request that nobody has finished is withdrawn, whatever is kept: nobody may
// begin it later.
func TestResourceHasADeadline(t *testing.T) {
	b := onReset(t, KeepAll)
	t.Parallel()
	d := deed(remediate.StepReset)
	d.Deadline = time.Now().Add(4 * time.Second)
	is(t, b.Do(t.Context(), d, b.record), remediate.Unsuccessful, "nobody has answered")
	gone(t, b.resources(janitor, "gpuresets", ""), nameOf(b.name, d), true)
}

// Two agents, one after the other, make one resource.
func TestResourceOverARestart(t *testing.T) {
	b := onReset(t, KeepNone)
	in := b.resources(janitor, "gpuresets", "")
	d := deed(remediate.StepReset)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan remediate.Outcome, 1)
	go func() { ended <- b.Do(ctx, d, b.record) }()
	first := b.created(t, in, d)
	stop()
	is(t, <-ended, remediate.Aborted)

	// It may have died before or behind its second record.
	d.Undo = []string{undoRequest}
	next := b.begin(t, d)
	tell(t, in, first.GetName(), `{"phase":"Succeeded"}`)
	is(t, <-next, remediate.Succeeded)

	d.Undo = []string{undoRequest, undoMade}
	is(t, b.Do(t.Context(), d, b.record), remediate.Undecided, "somebody has taken the request away")
	gone(t, in, first.GetName(), true)
}

func TestResourceIsDeleted(t *testing.T) {
	b := onReset(t, KeepNone)
	in := b.resources(janitor, "gpuresets", "")
	d := deed(remediate.StepReset)
	ended := b.begin(t, d)
	must(t, in.Delete(t.Context(), b.created(t, in, d).GetName(), metav1.DeleteOptions{}))
	is(t, <-ended, remediate.Undecided)
}

func TestResourceCannotBeMade(t *testing.T) {
	kinds(t)
	const success = "\nsuccess: {path: '{.status.phase}', values: [Succeeded]}\n"
	tests := []struct {
		name, file string
		words      []string
	}{
		{"no such kind", "template: '{apiVersion: janitor.dgxc.nvidia.com/v1alpha1, kind: GPUFix}'" + success,
			[]string{"kind GPUFix of janitor.dgxc.nvidia.com/v1alpha1 cannot be asked for: the cluster does not have it"}},
		{"no such group", "template: '{apiVersion: example.com/v1, kind: Reset}'" + success,
			[]string{"kind Reset of example.com/v1 cannot be asked for"}},
		{"a field that the kind does not have", "template: '{apiVersion: janitor.dgxc.nvidia.com/v1alpha1, kind: GPUReset, spec: {nodeName: n, node: n}}'" + success,
			[]string{"test.yaml: GPUReset gpuhealthd-reset-", `unknown field "spec.node"`}},
		{"a field that is missing", "template: '{apiVersion: janitor.dgxc.nvidia.com/v1alpha1, kind: GPUReset, spec: {}}'" + success,
			[]string{"spec.nodeName: Required value"}},
		{"a name that is taken", "template: '{apiVersion: v1, kind: Namespace, metadata: {name: default}}'" + success,
			[]string{"Namespace default cannot be asked for: it is there already, and not for this deed"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			f, err := parse("test.yaml", []byte(test.file))
			must(t, err)
			b.by(t, f)
			is(t, b.Do(t.Context(), deed(remediate.StepReset), b.record), remediate.Unavailable, test.words...)
		})
	}
}

func TestResourceIsForbidden(t *testing.T) {
	kinds(t)
	b := newBench(t)
	is(t, byResource(t, b.name, load(t, examples+"reset-nvsentinel.yaml"), nobody(t)).Do(t.Context(), deed(remediate.StepReset), b.record), remediate.Unavailable, "forbidden")
}

// Without an API server it is tried until the deadline.
func TestResourceIsUnreachable(t *testing.T) {
	config := shared.Cluster(t).Admin()
	config.Host = "https://127.0.0.1:1"
	b := newBench(t)
	b.Request = byResource(t, b.name, load(t, examples+"reset-nvsentinel.yaml"), config)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	d := deed(remediate.StepReset)
	d.Undo = []string{undoRequest}
	if err := b.Undo(ctx, d); err == nil || !strings.Contains(err.Error(), "withdraw the request for reset-1") {
		t.Errorf("Undo: %v", err)
	}
	d.Deadline = time.Now().Add(300 * time.Millisecond)
	ctx, cancelFollow := context.WithDeadline(t.Context(), d.Deadline)
	defer cancelFollow()
	is(t, b.follow(ctx, d, b.record), remediate.Unsuccessful, "it could not be asked for by the deadline", "connection refused")
}
