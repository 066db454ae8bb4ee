package dcgmi

import (
	"strings"
	"time"
)

// Config is how dcgmi is run.
type Config struct {
	// Command is dcgmi, looked for in PATH if it has no slash, with arguments ahead
	// of ours. What runs dcgmi must become it (exec): a child of its own would not
	// get the signals.
	Command []string
	// Env is added to our own environment.
	Env []string
	// Host is the host engine: HOST, HOST:PORT, or the path of a unix socket. Empty
	// is what dcgmi takes by itself, the engine on this host.
	Host string
	// Level2, Level3 and Level4 are the deadlines; level 1 has that of 2.
	Level2, Level3, Level4 time.Duration
	// Patience is how long a busy engine is waited for, Retry how often it is asked.
	Patience, Retry time.Duration
	// Grace is how long dcgmi has, after SIGTERM, to stop the engine's diagnosis:
	// about 4 s, as observed. After SIGKILL its process has as long again.
	Grace time.Duration
	// Every is how often progress is told.
	Every time.Duration
}

// Default is for the host engine of this host. The deadlines are half as long again
// as what was seen at most with eight GPUs (10.5 and 35 minutes).
func Default() Config {
	return Config{
		Command:  []string{"dcgmi"},
		Level2:   15 * time.Minute,
		Level3:   45 * time.Minute,
		Level4:   3 * time.Hour,
		Patience: 10 * time.Minute,
		Retry:    15 * time.Second,
		Grace:    10 * time.Second,
		Every:    10 * time.Second,
	}
}

// deadline is that of a level.
func (c Config) deadline(level int) time.Duration {
	switch level {
	case 1, 2:
		return c.Level2
	case 3:
		return c.Level3
	}
	return c.Level4
}

// argv is a call of dcgmi's.
func (c Config) argv(args ...string) []string {
	argv := append(append([]string{}, c.Command...), args...)
	switch {
	case c.Host == "":
		return argv
	case strings.HasPrefix(c.Host, "/"):
		return append(argv, "--host", "unix://"+c.Host)
	}
	return append(argv, "--host", c.Host)
}
