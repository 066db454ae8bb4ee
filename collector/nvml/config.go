package nvml

import "time"

// Config is how the child is started and what is expected of it.
type Config struct {
	// Command is the child's argument vector; empty is this executable with
	// "probe nvml --period … --deadline …".
	Command []string
	// Env is added to the child's environment.
	Env []string
	// Lock is a folder that the child holds locked while it lives, so that an
	// agent which was killed and comes back starts none beside one that is
	// stuck. Nothing is written there: it may be on a disk that is full or read
	// only. Empty is no such protection.
	Lock string
	// Period is between polls, 5 s if 0; SlowPeriod between those of what rarely
	// changes, 1 min if 0. Deadline is for one driver call, 3 s if 0.
	Period, SlowPeriod, Deadline time.Duration
	// LibraryPaths are folders in which the driver's library is looked for before it is
	// left to the system's loader.
	LibraryPaths []string
}

func (cfg Config) withDefaults() Config {
	if cfg.Period == 0 {
		cfg.Period = 5 * time.Second
	}
	if cfg.SlowPeriod == 0 {
		cfg.SlowPeriod = time.Minute
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = 3 * time.Second
	}
	return cfg
}

func (cfg Config) command() []string {
	if len(cfg.Command) > 0 {
		return cfg.Command
	}
	argv := []string{"", "probe", "nvml", "--period", cfg.Period.String(), "--slow-period", cfg.SlowPeriod.String(), "--deadline", cfg.Deadline.String()}
	for _, path := range cfg.LibraryPaths {
		argv = append(argv, "--library-path", path)
	}
	return argv
}
