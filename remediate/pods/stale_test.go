package pods

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

func TestMarkStale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.run("decode")
	w := fault.Workload{Name: pod.Namespace + "/decode", UID: string(pod.UID)}
	const text = "2026-11-30T16:00:00Z ns/prefill-0"
	says := func(want string) {
		t.Helper()
		now, err := b.admin.CoreV1().Pods(pod.Namespace).Get(t.Context(), "decode", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if now.Annotations[AnnotationStale] != want || len(now.Labels) != len(pod.Labels) {
			t.Errorf("says %q with %d labels, want %q with %d", now.Annotations[AnnotationStale], len(now.Labels), want, len(pod.Labels))
		}
	}
	mark := func(w fault.Workload, text string) {
		t.Helper()
		if err := b.MarkStale(context.Background(), w, text); err != nil {
			t.Error(err)
		}
	}
	mark(w, text)
	mark(w, text)
	says(text)
	mark(fault.Workload{Name: w.Name, UID: "another"}, "other")
	mark(fault.Workload{Name: pod.Namespace + "/none", UID: "none"}, "other")
	says(text)
	events, err := b.admin.EventsV1().Events(pod.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.uid=" + w.UID})
	if err != nil || len(events.Items) != 1 || events.Items[0].Reason != "StalePeer" || !strings.Contains(events.Items[0].Note, text) {
		t.Errorf("events %+v, %v", events, err)
	}
	mark(w, "")
	says("")
}
