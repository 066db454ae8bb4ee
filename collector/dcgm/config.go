package dcgm

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// Config is whom the child asks, and how.
type Config struct {
	// Address is an engine's HOST:PORT, or the path of its unix socket.
	Address string
	// Embedded starts an engine in the child instead: it then has the driver
	// open, and profiling and a reset of a GPU wait for its end.
	Embedded bool
	// Profiling watches the profiling fields too: it takes the GPUs' counters
	// from any other profiler.
	Profiling bool
	// Period is between two polls, 10 s if 0. Deadline is for one call, 5 s if 0.
	Period, Deadline time.Duration
	// Command is the child's argument vector; empty is this executable with
	// "probe dcgm --address … --period …".
	Command []string
	// Env is added to the child's environment.
	Env []string
	// Lock is a folder of its own that the child holds locked while it lives, so
	// that an agent which was killed and comes back starts none beside one that
	// is stuck in the driver. Only an Embedded engine can be: without one, empty.
	Lock string
}

func (cfg Config) withDefaults() Config {
	if cfg.Period == 0 {
		cfg.Period = 10 * time.Second
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = 5 * time.Second
	}
	return cfg
}

// maxLine is the longest line that the child may write, in bytes: a health
// report with all the incidents that it may hold, each with all its text.
const maxLine = 32 << 10

func (cfg Config) spec() child.Spec[Report] {
	s := child.Spec[Report]{Command: cfg.Command, Env: cfg.Env, Lock: cfg.Lock, MaxLine: maxLine, Parse: parseReport}
	if len(s.Command) > 0 {
		return s
	}
	s.Command = []string{"", "probe", "dcgm", "--period", cfg.Period.String(), "--deadline", cfg.Deadline.String()}
	if cfg.Embedded {
		s.Command = append(s.Command, "--embedded")
	} else {
		s.Command = append(s.Command, "--address", cfg.Address)
	}
	if cfg.Profiling {
		s.Command = append(s.Command, "--profiling")
	}
	return s
}
