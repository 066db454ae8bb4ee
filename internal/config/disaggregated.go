package config

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Disaggregated says how the workers of disaggregated serving are told, and whether
// they are looked after.
type Disaggregated struct {
	Enabled bool `yaml:"enabled"`
	// RoleLabels and GroupLabels are labels of pods: the first that a pod has says what
	// it does, and for what.
	RoleLabels  []string `yaml:"roleLabels"`
	GroupLabels []string `yaml:"groupLabels"`
	// Prefill and Decode are the values of a role label that stand for each.
	Prefill []string `yaml:"prefill"`
	Decode  []string `yaml:"decode"`
	// KVLease is how long a prefill worker keeps the KV cache of a request for a decode
	// worker that is gone.
	KVLease KVLease `yaml:"kvLease"`
	// Rollout is what restarts of decode workers wait for.
	Rollout Rollout `yaml:"rollout"`
}

// Rollout says for how long decode workers are not restarted, since other prefill workers
// are being replaced.
type Rollout struct {
	// Settle is for how long all prefill workers of a group have to have been ready, and
	// Limit how long that is waited for, at most an hour; 0s waits for nothing.
	Settle Duration `yaml:"settle"`
	Limit  Duration `yaml:"limit"`
}

// longestRollout is for how long a decode worker goes on with a dead prefill worker.
const longestRollout = Duration(time.Hour)

// KVLease is a duration, or auto, which is 0: what the worker's own pod says.
type KVLease time.Duration

// auto is how the zero value is written.
const auto = "auto"

// UnmarshalYAML reads auto or a duration above zero.
func (k *KVLease) UnmarshalYAML(n *yaml.Node) error {
	var d Duration
	switch err := d.UnmarshalYAML(n); {
	case n.Value == auto:
	case err != nil || d == 0:
		return fmt.Errorf("%q is not auto, or a duration above zero, such as 30s", n.Value)
	}
	*k = KVLease(d)
	return nil
}

// MarshalYAML writes the lease as UnmarshalYAML reads it.
func (k KVLease) MarshalYAML() (any, error) {
	if k == 0 {
		return auto, nil
	}
	return time.Duration(k).String(), nil
}

func defaultDisaggregated() Disaggregated {
	return Disaggregated{
		RoleLabels:  []string{"llm-d.ai/role", "nvidia.com/dynamo-sub-component-type", "nvidia.com/dynamo-component-type"},
		GroupLabels: []string{"nvidia.com/dynamo-graph-deployment-name", "llm-d.ai/model", "leaderworkerset.sigs.k8s.io/group-key"},
		Prefill:     []string{"prefill"}, Decode: []string{"decode"},
		Rollout: Rollout{Settle: Duration(30 * time.Second), Limit: Duration(15 * time.Minute)},
	}
}

// labelValue is what a label may say.
var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

func (d Disaggregated) check(serving bool) []finding {
	list := func(field string, of []string, each *regexp.Regexp, what string) finding {
		bad := len(of) == 0 || slices.ContainsFunc(of, func(text string) bool { return !each.MatchString(text) })
		return finding{"serving.disaggregated." + field, bad, fmt.Sprintf("%q are not one or more %s", of, what)}
	}
	const keys, values = "keys of labels", "values of labels"
	return []finding{
		{"serving.disaggregated.enabled", d.Enabled && !serving, "true, and serving.enabled is not"},
		list("roleLabels", d.RoleLabels, labelKey, keys), list("groupLabels", d.GroupLabels, labelKey, keys),
		list("prefill", d.Prefill, labelValue, values), list("decode", d.Decode, labelValue, values),
		{"serving.disaggregated.decode", slices.ContainsFunc(d.Decode, func(v string) bool { return slices.Contains(d.Prefill, v) }),
			fmt.Sprintf("%q has a value of prefill", d.Decode)},
		{"serving.disaggregated.rollout.limit", d.Rollout.Limit > longestRollout, fmt.Sprintf("%s is more than %s", time.Duration(d.Rollout.Limit), time.Duration(longestRollout))},
	}
}

// checkTurns finds workers that would be restarted without taking turns.
func (c *Config) checkTurns() []finding {
	const field = "serving.restartStalePeers"
	return []finding{
		{field, c.Serving.RestartStalePeers && !c.Serving.Disaggregated.Enabled, "true, and serving.disaggregated.enabled is not"},
		{field, c.Serving.RestartStalePeers && !c.Guards.Enabled, "true, and guards.enabled is not: they would not take turns"},
	}
}
