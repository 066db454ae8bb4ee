package e2e

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// note is the incident annotation as the public contract has it. It is read
// here by its own words, and not by the daemon's type.
type note struct {
	ID     string    `json:"id"`
	Opened time.Time `json:"opened"`
	Fault  string    `json:"fault"`
	GPUs   []string  `json:"gpus"`
	Radius string    `json:"radius"`
	Action string    `json:"action"`
	Step   string    `json:"step"`
	Fence  string    `json:"fence"`
	Owner  string    `json:"owner"`
}

func noteOf(t *testing.T, n *corev1.Node) (got note) {
	t.Helper()
	text := n.Annotations["gpuhealthd.io/incident"]
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("incident annotation %q: %v", text, err)
	}
	return got
}
