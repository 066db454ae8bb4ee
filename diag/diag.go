// Package diag knows DCGM's diagnostics: which level a fault calls for, on which
// GPUs, how long that takes at most; and what the answer of "dcgmi diag -j" is
// worth, which is more than its exit status and less than its word.
//
// Read makes a Report of an answer of DCGM 3 or 4, Judge a Finding for each GPU.
// A test that is missing or skipped did not pass; an error of a version of DCGM
// that is known for it is doubted; one GPU's failure condemns no other; and what
// could not run is never hardware. The tables that this rests on are data, with
// their sources: expectations, severities, codes, exits, flaws.
//
// The package is pure: it runs nothing (diag/dcgmi does) and knows nothing of
// Kubernetes.
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

// Expected is how long a level takes at most as far as was seen: 2 and 3 with
// eight GPUs; NVIDIA's guide names about 2 and about 15 minutes, seconds for 1, and
// one to two hours for 4.
func Expected(level int) time.Duration {
	switch level {
	case 1:
		return time.Minute
	case 2:
		return 10*time.Minute + 30*time.Second
	case 3:
		return 35 * time.Minute
	}
	return 2 * time.Hour
}

// For gives the diagnosis that a verdict calls for; false for none. An echo
// calls for none: its root does.
func For(v fault.Verdict) (Request, bool) {
	if v.Diag < 2 || v.Root != "" || v.Closed || len(v.GPUs) == 0 {
		return Request{}, false
	}
	return Request{Incident: v.ID, Level: v.Diag, GPUs: v.GPUs, AtMost: Expected(v.Diag)}, true
}

// String says the request in words.
func (r Request) String() string {
	gpus := "GPUs"
	if len(r.GPUs) == 1 {
		gpus = "GPU"
	}
	return fmt.Sprintf("DCGM diagnostics level %d on %d idle %s, up to %s", r.Level, len(r.GPUs), gpus, r.AtMost)
}
