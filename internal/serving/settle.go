package serving

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// stateOf is that of a pod by how its replica stands.
func stateOf(s serving.Standing) pods.State {
	switch s {
	case serving.OnProbation:
		return pods.OnProbation
	case serving.Degraded:
		return pods.Degraded
	case serving.Stuck:
		return pods.Stalled
	}
	return pods.InService
}

// Settle makes the pods of replicas say how they stand, and lets them have requests or
// not. Those that say so already, by the watch, are not written to.
func (s *Serving) Settle(ctx context.Context, all []serving.Stand) error {
	var failed []error
	for _, stand := range all {
		if pod := s.pod(stand.Replica); pod != nil {
			failed = append(failed, s.options.Settle(ctx, pod, stateOf(stand.Standing), stand.Why))
		}
	}
	return errors.Join(failed...)
}

// pod is that of a replica, nil where there is none.
func (s *Serving) pod(r serving.Replica) *corev1.Pod {
	s.mu.Lock()
	store := s.pods
	s.mu.Unlock()
	if store == nil || r.UID == "" {
		return nil
	}
	object, there, err := store.GetByKey(r.Name)
	pod, ok := object.(*corev1.Pod)
	if err != nil || !there || !ok || string(pod.UID) != r.UID || pod.DeletionTimestamp != nil {
		return nil
	}
	return pod
}
