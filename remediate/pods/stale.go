package pods

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// AnnotationStale says on a decode worker's pod that it may serve from a prefill worker
// which is gone: since when, and which.
const AnnotationStale = remediate.Prefix + "stale-peer"

// MarkStale writes the annotation onto a pod of the node and tells an event about it;
// an empty text takes the annotation away. It may be called any number of times. One of
// another UID than this, or none, is no error.
func (p *Pods) MarkStale(ctx context.Context, w fault.Workload, text string) error {
	namespace, name, _ := strings.Cut(w.Name, "/")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(w.UID)}}
	if text == "" {
		return p.patch(ctx, pod, map[string]any{}, map[string]any{AnnotationStale: nil})
	}
	if err := p.patch(ctx, pod, map[string]any{}, map[string]any{AnnotationStale: text}); err != nil {
		return err
	}
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: pod.UID}
	return p.client.Emit(ctx, p.options.Node, about, remediate.Event{
		Key:     "stale/" + w.UID + "/" + text,
		Type:    corev1.EventTypeWarning,
		Reason:  "StalePeer",
		Message: fmt.Sprintf("on node %s: this decode worker may serve from a prefill worker that is gone: %s", p.options.Node, text),
		At:      time.Now(),
	})
}
