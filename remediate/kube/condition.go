package kube

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// statusChange is a strategic merge patch: conditions merge by their type, so
// that the kubelet's stay as they are. The UID makes it fail on another Node
// of the same name.
type statusChange struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Conditions []corev1.NodeCondition `json:"conditions"`
	} `json:"status"`
}

// statusPatch returns the patch that makes the Node's conditions the wanted
// ones, or nil. One that is wanted without a status is left as it is.
func statusPatch(have view, want remediate.Desired, now time.Time) ([]byte, error) {
	var change statusChange
	change.Metadata.UID = have.uid
	wanted := map[string]remediate.Condition{
		remediate.ConditionGPU:    want.GPU,
		remediate.ConditionNVLink: want.NVLink,
	}
	for _, kind := range ourConditions() {
		had, next := have.conditions[kind], wanted[kind]
		if next.Status == "" || had.Condition == next {
			continue
		}
		since, heard := had.since, had.heard
		if had.Status != next.Status {
			since, heard = metav1.NewTime(now), metav1.NewTime(now)
		}
		change.Status.Conditions = append(change.Status.Conditions, corev1.NodeCondition{
			Type:               corev1.NodeConditionType(kind),
			Status:             corev1.ConditionStatus(next.Status),
			Reason:             next.Reason,
			Message:            next.Message,
			LastTransitionTime: since,
			LastHeartbeatTime:  heard,
		})
	}
	if change.Status.Conditions == nil {
		return nil, nil
	}
	body, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode conditions: %w", err)
	}
	return body, nil
}
