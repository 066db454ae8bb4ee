// Package diag knows DCGM's diagnostics: which level a fault calls for, on
// which GPUs, how long that takes at most, and that the GPUs must be idle.
//
// Nothing is run yet: a Request is what an operator, or whoever the site
// allows, is asked for. The package knows nothing of Kubernetes.
package diag

import (
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Request asks for one diagnosis.
type Request struct {
	// Incident is the verdict's ID.
	Incident string `json:"incident"`
	// Level is DCGM's: 2 or 3.
	Level int `json:"level"`
	// GPUs are those to be diagnosed, each of which must be idle.
	GPUs []fault.Device `json:"gpus"`
	// AtMost is how long it takes at most.
	AtMost time.Duration `json:"atMost"`
}

// What eight GPUs take at most at level 2 and 3, as observed; NVIDIA's guide
// names about 2 and about 15 minutes.
const (
	level2 = 10*time.Minute + 30*time.Second
	level3 = 35 * time.Minute
)

// For gives the diagnosis that a verdict calls for; false for none. An echo
// calls for none: its root does.
func For(v fault.Verdict) (Request, bool) {
	if v.Diag < 2 || v.Root != "" || v.Closed || len(v.GPUs) == 0 {
		return Request{}, false
	}
	atMost := level2
	if v.Diag > 2 {
		atMost = level3
	}
	return Request{Incident: v.ID, Level: v.Diag, GPUs: v.GPUs, AtMost: atMost}, true
}

// String says the request in words.
func (r Request) String() string {
	gpus := "GPUs"
	if len(r.GPUs) == 1 {
		gpus = "GPU"
	}
	return fmt.Sprintf("DCGM diagnostics level %d on %d idle %s, up to %s", r.Level, len(r.GPUs), gpus, r.AtMost)
}
