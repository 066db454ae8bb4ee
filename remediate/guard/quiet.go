package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The words by which others say that they have a node in hand.
const (
	// MaintenanceAnnotation has the agent record and not act, for as long as it
	// stands with any value but false; the value says why.
	MaintenanceAnnotation = "gpuhealthd.io/maintenance"
	// UpgradeLabel is the GPU operator's: how far its driver upgrade of the node is.
	UpgradeLabel = "nvidia.com/gpu-driver-upgrade-state"
	// operandLabels begin the labels by which the operator's services run; a value
	// that begins with operandPaused says that it has stopped one.
	operandLabels = "nvidia.com/gpu.deploy."
	operandPaused = "paused-for-"
)

// upgradeAtRest are the states of a driver upgrade in which nobody works on the
// node: none is wanted, it waits for its turn, or it is done.
var upgradeAtRest = []string{"", "upgrade-required", "upgrade-done"}

// InHand is who has the node in hand, and until when; the zero value is nobody.
type InHand struct {
	Kind  Kind   `json:"kind,omitempty"`
	Why   string `json:"why,omitempty"`
	Until string `json:"until,omitempty"`
}

// InHandOf reads it from a Node's labels and annotations.
func InHandOf(labels, annotations map[string]string) InHand {
	if why := annotations[MaintenanceAnnotation]; why != "" && why != "false" {
		return InHand{Maintenance, fmt.Sprintf("maintenance: %.120q", why), "the annotation " + MaintenanceAnnotation + " is removed"}
	}
	if state := labels[UpgradeLabel]; !slices.Contains(upgradeAtRest, state) {
		return InHand{Upgrade, "the GPU operator upgrades the driver: " + state, "the label " + UpgradeLabel + " says upgrade-done"}
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if strings.HasPrefix(key, operandLabels) && strings.HasPrefix(labels[key], operandPaused) {
			return InHand{Paused, fmt.Sprintf("the GPU operator has paused a service: %s=%s", key, labels[key]), "the operator runs it again"}
		}
	}
	return InHand{}
}

// Cordoned is an administrator's cordon.
func Cordoned() InHand {
	return InHand{Closed, "the node was cordoned by somebody else", "the node is uncordoned"}
}

// Hold is the hold of who has the node in hand; nil for nobody.
func (h InHand) Hold() *Hold {
	if h.Why == "" {
		return nil
	}
	return &Hold{Quiet, h.Kind, h.Why, h.Until}
}
