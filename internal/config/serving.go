package config

import (
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/canary"
)

// Serving says whether and how the serving engines of this node are asked.
type Serving struct {
	Enabled bool `yaml:"enabled"`
	// Period is the time between two looks at an engine, at least a second; Deadline
	// how long one may take.
	Period   Duration `yaml:"period"`
	Deadline Duration `yaml:"deadline"`
	// Stall is how long requests may be open without progress.
	Stall Duration `yaml:"stall"`
	// WarmUp is the same of the first request in an engine's life.
	WarmUp Duration `yaml:"warmUp"`
	// DrainCeiling is how long a pod that is moved may still compute on its requests.
	DrainCeiling Duration `yaml:"drainCeiling"`
	// Ports are names of container ports at which engines tell metrics.
	Ports []string `yaml:"ports"`
	// Engines are those outside of pods, or that no pod tells of.
	Engines []Engine `yaml:"engines"`
	// Dialects is a file that has further kinds of engines; empty is none.
	Dialects string `yaml:"dialects"`
	// Prometheus knows the latencies of the fleet; empty compares with this node.
	Prometheus string `yaml:"prometheus"`
	Canary     Canary `yaml:"canary"`
	// Probation says which lives of a pod have to prove that they serve.
	Probation Lives `yaml:"probation"`
	// ProbationLimit is how long a node that has served its probation waits for
	// replicas to prove that; 0s waits for none.
	ProbationLimit Duration `yaml:"probationLimit"`
	// Disaggregated looks after prefill and decode workers; RestartStalePeers restarts
	// a decode worker that a prefill worker has left.
	Disaggregated     Disaggregated `yaml:"disaggregated"`
	RestartStalePeers bool          `yaml:"restartStalePeers"`
}

// Lives says which lives of a pod are meant.
type Lives string

// The lives.
const (
	// LivesGated: those of pods with the readiness gate, until it was opened once.
	LivesGated Lives = "gated"
	// LivesEvery: those, and each further start of their containers, and of those of
	// pods with the rotation label.
	LivesEvery Lives = "every"
)

// Canary says whether and how replicas are asked what users would ask.
type Canary struct {
	Enabled bool `yaml:"enabled"`
	// Period is the time between two requests to one replica, from 5s on; PerMinute
	// how many all replicas of the node may get.
	Period    Duration `yaml:"period"`
	PerMinute int      `yaml:"perMinute"`
	// Frozen is how long a stream may be open without a token, at most 10m, FirstToken how
	// long the first may take, at most Frozen.
	Frozen     Duration `yaml:"frozen"`
	FirstToken Duration `yaml:"firstToken"`
	// Rate is how many tokens a second are the least, from 0 to 1000.
	Rate float64 `yaml:"rate"`
}

func defaultServing() Serving {
	asks := canary.Default()
	return Serving{Period: Duration(5 * time.Second), Deadline: Duration(5 * time.Second), Stall: Duration(15 * time.Second), WarmUp: Duration(5 * time.Minute),
		DrainCeiling: Duration(30 * time.Second), Ports: []string{"metrics", "http-metrics"}, Engines: []Engine{},
		Canary:    Canary{Period: Duration(asks.Period), PerMinute: asks.PerMinute, Frozen: Duration(asks.Limits.Frozen), FirstToken: Duration(asks.Limits.FirstToken), Rate: asks.Limits.Rate},
		Probation: LivesGated, ProbationLimit: Duration(10 * time.Minute), Disaggregated: defaultDisaggregated()}
}

// The shortest times that mean anything: an engine counts its tokens once a second
// at best, and a canary's request takes a second of a GPU.
const (
	minStall  = 5 * time.Second
	minCanary = 5 * time.Second
)

// The most: a request that is let go on for longer takes a place in the engine, and no
// engine gives one user so many tokens.
const (
	maxFrozen = Duration(10 * time.Minute)
	maxRate   = 1000
)

func (s Serving) check() []finding {
	under := func(field string, d Duration, least time.Duration) finding {
		return finding{"serving." + field, time.Duration(d) < least, fmt.Sprintf("%s is less than %s", time.Duration(d), least)}
	}
	found := []finding{
		under("period", s.Period, time.Second), under("deadline", s.Deadline, 100*time.Millisecond), under("stall", s.Stall, minStall),
		{"serving.stall", s.Stall < 2*s.Period, fmt.Sprintf("%s is less than two of serving.period", time.Duration(s.Stall))},
		{"serving.warmUp", s.WarmUp < s.Stall, fmt.Sprintf("%s is less than serving.stall", time.Duration(s.WarmUp))},
		{"serving.dialects", relativePath(s.Dialects), fmt.Sprintf("%q is not an absolute path", s.Dialects)},
		{"serving.prometheus", s.Prometheus != "" && !isURL(s.Prometheus), fmt.Sprintf("%q is not a URL of http or https", s.Prometheus)},
		under("canary.period", s.Canary.Period, minCanary), under("canary.frozen", s.Canary.Frozen, time.Second),
		{"serving.canary.perMinute", s.Canary.PerMinute < 1 || s.Canary.PerMinute > 600, fmt.Sprintf("%d is not from 1 to 600", s.Canary.PerMinute)},
		{"serving.canary.frozen", s.Canary.Frozen > maxFrozen, fmt.Sprintf("%s is more than %s", time.Duration(s.Canary.Frozen), time.Duration(maxFrozen))},
		{"serving.canary.firstToken", s.Canary.FirstToken > s.Canary.Frozen, fmt.Sprintf("%s is more than serving.canary.frozen, %s, which ends a request", time.Duration(s.Canary.FirstToken), time.Duration(s.Canary.Frozen))},
		{"serving.canary.rate", !(s.Canary.Rate >= 0 && s.Canary.Rate <= maxRate), fmt.Sprintf("%g is not from 0 to %d", s.Canary.Rate, maxRate)},
		oneOf("serving.probation", s.Probation, LivesGated, LivesEvery),
		{"serving.canary.enabled", s.Canary.Enabled && !s.Enabled, "true, and serving.enabled is not"},
	}
	found = append(found, s.Disaggregated.check(s.Enabled)...)
	return append(found, checkEngines(s.Engines)...)
}

func relativePath(path string) bool { return path != "" && relative(path) }
