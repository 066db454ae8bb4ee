package config

import (
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time.Duration written as 90s, 10m or 24h; never negative.
type Duration time.Duration

// spelled is how a duration is written, whatever its length.
var spelled = regexp.MustCompile(`^[-+]?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$`)

// UnmarshalYAML reads a duration and refuses a number without a unit.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil && spelled.MatchString(n.Value) {
		return fmt.Errorf("%s is too long", n.Value)
	}
	if err != nil || n.Kind != yaml.ScalarNode {
		return fmt.Errorf("%q is not a duration; write it as 90s, 10m or 24h", n.Value)
	}
	if v < 0 {
		return fmt.Errorf("%s is negative", n.Value)
	}
	*d = Duration(v)
	return nil
}

// MarshalYAML writes the duration as UnmarshalYAML reads it.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// Level is a slog level.
type Level slog.Level

// UnmarshalYAML reads debug, info, warn or error.
func (l *Level) UnmarshalYAML(n *yaml.Node) error {
	switch n.Value {
	case "debug":
		*l = Level(slog.LevelDebug)
	case "info":
		*l = Level(slog.LevelInfo)
	case "warn":
		*l = Level(slog.LevelWarn)
	case "error":
		*l = Level(slog.LevelError)
	default:
		return fmt.Errorf("%q is not debug, info, warn or error", n.Value)
	}
	return nil
}

// MarshalYAML writes the level as UnmarshalYAML reads it.
func (l Level) MarshalYAML() (any, error) {
	return map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info",
		slog.LevelWarn: "warn", slog.LevelError: "error"}[slog.Level(l)], nil
}

// Fence is what keeps new work off a GPU that alone is at fault.
type Fence string

// What may.
const (
	// FenceAuto is a taint of the device, where GPUs are given out by DRA and the
	// device is listed; else the cordon.
	FenceAuto Fence = "auto"
	// FenceNode is the cordon, in any case.
	FenceNode Fence = "node"
)

// RackSwitch is what a tray does for a switch of its rack.
type RackSwitch string

// What it may do.
const (
	// RackHold leaves the tray in service: all of the rack's are as badly off.
	RackHold RackSwitch = "hold"
	// RackCordon takes it out of service.
	RackCordon RackSwitch = "cordon"
)

// Actuator is who carries a plan out.
type Actuator string

// The actuators.
const (
	ActuatorKubernetes Actuator = "kubernetes"
	ActuatorLog        Actuator = "log"
	ActuatorSlurm      Actuator = "slurm"
	ActuatorExec       Actuator = "exec"
)

// maxLink is the highest number that NVML gives an NVLink.
const maxLink = 35

// LinkNames gives a name by the number of an NVLink.
type LinkNames map[int]string

// UnmarshalYAML reads numbers and names; the library would take 1.5 for 1.
func (l *LinkNames) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%q is not a map from link number to name", n.Value)
	}
	names := LinkNames{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, name := n.Content[i].Value, n.Content[i+1]
		link, err := strconv.Atoi(key)
		switch _, twice := names[link]; {
		case err != nil || link < 0 || link > maxLink:
			return fmt.Errorf("%q is not a link's number, 0 to %d", key, maxLink)
		case twice:
			return fmt.Errorf("link %d is given twice", link)
		case name.Kind != yaml.ScalarNode || name.Value == "":
			return fmt.Errorf("link %d has no name", link)
		}
		names[link] = name.Value
	}
	*l = names
	return nil
}
