package pods

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// Release takes back what an agent has said of pods of the node that serve, since nobody
// looks at them any more: one that was held on probation may have requests again. Those
// that a drain or restart took out of rotation are left. Without the right to see pods, or
// to change them, it says so to the log, and that is no error.
func (p *Pods) Release(ctx context.Context) error {
	may, err := p.mayList(ctx)
	if err == nil && !may {
		p.options.Log.Info("what an agent before has said of pods that serve is not taken back", "error", "no right to list pods")
		return nil
	}
	var marked []corev1.Pod
	if err == nil {
		marked, err = p.marked(ctx)
	}
	for i := range marked {
		err = errors.Join(err, p.release(ctx, &marked[i]))
	}
	if apierrors.IsForbidden(err) {
		p.options.Log.Info("what an agent before has said of pods that serve is not taken back", "error", err)
		return nil
	}
	return err
}

// mayList asks whether the agent has the right to list pods, which without serving it does
// not need: to try would count as a right that is missing.
func (p *Pods) mayList(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"}}}
	err := p.client.Core.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(review).Do(ctx).Into(review)
	if err != nil {
		return false, fmt.Errorf("ask for the right to list pods: %w", err)
	}
	return review.Status.Allowed, nil
}

// marked are the pods of the node that carry the label KeyServing.
func (p *Pods) marked(ctx context.Context) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	var marked corev1.PodList
	err := p.client.Core.Get().Resource("pods").
		Param("fieldSelector", fields.OneTermEqualSelector("spec.nodeName", p.options.Node).String()).
		Param("labelSelector", KeyServing).
		Do(ctx).Into(&marked)
	if err != nil {
		return nil, fmt.Errorf("list the pods of node %s with label %s: %w", p.options.Node, KeyServing, err)
	}
	return marked.Items, nil
}

func (p *Pods) release(ctx context.Context, pod *corev1.Pod) error {
	w := WayOf(pod)
	if w.Deed || w.State == Draining {
		return nil
	}
	if err := p.mark(ctx, pod, w, InService, ""); err != nil {
		return err
	}
	if gate := gateOf(pod); gate != nil && gate.Status == corev1.ConditionFalse {
		if err := p.SetReady(ctx, pod, true, ReasonBack, "nobody holds this pod on probation any more"); err != nil {
			return err
		}
	}
	p.options.Log.Info("a pod is not held any more", "pod", nameOf(pod).String(), "was", string(w.State))
	return nil
}
