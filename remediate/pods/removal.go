package pods

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// The pauses between two tries to evict a pod. A disruption budget opens when
// other pods have become ready, which takes seconds to minutes.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// removal is what was done so far to move one pod, by this run of the drain.
type removal struct {
	rotation
	wait
	granted bool // it is told to go
	next    time.Time
	pause   time.Duration
	refusal string // why it is still there, as far as the API server says
}

// retry puts the next try off, at least as long as the server asks for.
func (r *removal) retry(now time.Time, err error) {
	r.refusal = err.Error()
	r.pause = min(max(2*r.pause, firstRetry), lastRetry)
	asked, _ := apierrors.SuggestsClientDelay(err)
	r.next = now.Add(max(r.pause, time.Duration(asked)*time.Second))
}

// remove asks for a pod to be evicted, or, by force, deletes it; it has its own
// grace period either way. It is never deleted without one: that would take the
// pod from the API and leave its processes.
func (p *Pods) remove(ctx context.Context, pod *corev1.Pod, force bool) error {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	what, request := "evict", p.client.Core.Post().SubResource("eviction").Body(&policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &options,
	})
	if force {
		what, request = "delete", p.client.Core.Delete().Body(&options)
	}
	// A refusal is for us to retry: the client would wait here.
	err := request.Namespace(pod.Namespace).Resource("pods").Name(pod.Name).MaxRetries(0).Do(ctx).Error()
	if err != nil && !passed(err) {
		return fmt.Errorf("%s pod %s: %w", what, nameOf(pod), err)
	}
	return nil
}

// passed: there is no such pod any more, or one of another UID.
func passed(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
