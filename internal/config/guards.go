package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// Guards say what holds an action that would do more harm than the fault.
type Guards struct {
	Enabled bool `yaml:"enabled"`
	// Group is a Node label; the nodes with the same value of it are one group.
	Group string `yaml:"group"`
	// Namespace is where the groups' Leases are; empty is the pod's own.
	Namespace string   `yaml:"namespace"`
	Budget    Share    `yaml:"budget"`
	Outbreak  Outbreak `yaml:"outbreak"`
	PerDay    PerDay   `yaml:"perDay"`
	Ramp      Ramp     `yaml:"ramp"`
	Capacity  Capacity `yaml:"capacity"`
}

// Share is a number of nodes: Least, or Percent of the group where that is more.
type Share struct {
	Least   int `yaml:"least"`
	Percent int `yaml:"percent"`
}

// Outbreak says how many nodes make one.
type Outbreak struct {
	Least   int      `yaml:"least"`
	Percent int      `yaml:"percent"`
	Window  Duration `yaml:"window"`
	// Wait is how old such a fault must be before it is acted on.
	Wait Duration `yaml:"wait"`
}

// PerDay says how often one node may do something within 24 hours.
type PerDay struct {
	Cordon  int `yaml:"cordon"`
	Drain   int `yaml:"drain"`
	Restart int `yaml:"restart"`
	Reset   int `yaml:"reset"`
	Reboot  int `yaml:"reboot"`
	Diag    int `yaml:"diag"`
}

// Ramp says how nodes go back to service; an Every of zero is all at once.
type Ramp struct {
	Every Duration `yaml:"every"`
	Limit Duration `yaml:"limit"`
}

// Capacity says where a site tells what its nodes can carry.
type Capacity struct {
	// Contract is a ConfigMap, as namespace/name; empty is none.
	Contract string `yaml:"contract"`
	// Prometheus is the URL of the server that knows the demand.
	Prometheus string `yaml:"prometheus"`
}

// defaultNamespace is where the Leases are outside of a pod.
const defaultNamespace = "gpuhealthd"

func defaultGuards() Guards {
	r := guard.Default()
	return Guards{
		Enabled:  true,
		Budget:   Share(r.Budget),
		Outbreak: Outbreak{Least: r.Outbreak.Least, Percent: r.Outbreak.Percent, Window: Duration(r.Window), Wait: Duration(r.Wait)},
		PerDay: PerDay{Cordon: r.Rates[guard.Cordon].Times, Drain: r.Rates[guard.Drain].Times, Restart: r.Rates[guard.Restart].Times, Reset: r.Rates[guard.Reset].Times,
			Reboot: r.Rates[guard.Reboot].Times, Diag: r.Rates[guard.Diag].Times},
		Ramp: Ramp{Every: Duration(r.Ramp.Every), Limit: Duration(r.Ramp.Limit)},
	}
}

// rules gives the guards' view of the configuration; nil where they are off.
func (c Config) rules() *guard.Rules {
	g := c.Guards
	if !g.Enabled {
		return nil
	}
	r := guard.Rules{
		Fleet:    c.Actuator == ActuatorKubernetes,
		Budget:   guard.Share(g.Budget),
		Outbreak: guard.Share{Least: g.Outbreak.Least, Percent: g.Outbreak.Percent},
		Window:   time.Duration(g.Outbreak.Window),
		Wait:     time.Duration(g.Outbreak.Wait),
		Rates:    map[guard.Action]guard.Limit{},
		Ramp:     guard.Pace{Every: time.Duration(g.Ramp.Every), Limit: time.Duration(g.Ramp.Limit)},
		Rota:     guard.Rota{AtOnce: c.Repair.Diag.Schedule.AtOnce, PerRack: c.Repair.Diag.Schedule.PerRack},
	}
	for action, times := range map[guard.Action]int{guard.Cordon: g.PerDay.Cordon, guard.Drain: g.PerDay.Drain,
		guard.Restart: g.PerDay.Restart, guard.Reset: g.PerDay.Reset, guard.Reboot: g.PerDay.Reboot, guard.Diag: g.PerDay.Diag} {
		r.Rates[action] = guard.Limit{Times: times, Per: 24 * time.Hour}
	}
	return &r
}

// modes gives the modes of single classes of fault.
func (c Config) modes() map[fault.Class]remediate.Mode {
	own := map[fault.Class]remediate.Mode{}
	for class, mode := range c.Modes {
		own[fault.Class(class)] = mode
	}
	return own
}

// ContractName gives the ConfigMap of the contract; empty where there is none.
func (c Capacity) ContractName() (namespace, name string) {
	namespace, name, _ = strings.Cut(c.Contract, "/")
	return namespace, name
}

// LeaseNamespace gives the namespace of the Leases, for a pod in a namespace.
func (g Guards) LeaseNamespace(pod string) string {
	for _, name := range []string{g.Namespace, pod} {
		if name != "" {
			return name
		}
	}
	return defaultNamespace
}

func (g Guards) check() []finding {
	atLeast1 := func(field string, n int) finding {
		return finding{"guards." + field, n < 1, fmt.Sprintf("%d is less than 1", n)}
	}
	percent := func(field string, n int) finding {
		return finding{"guards." + field, n < 0 || n > 100, fmt.Sprintf("%d is not from 0 to 100", n)}
	}
	namespace, name := g.Capacity.ContractName()
	return []finding{
		atLeast1("budget.least", g.Budget.Least), percent("budget.percent", g.Budget.Percent),
		atLeast1("outbreak.least", g.Outbreak.Least), percent("outbreak.percent", g.Outbreak.Percent),
		atLeast1("perDay.cordon", g.PerDay.Cordon), atLeast1("perDay.drain", g.PerDay.Drain), atLeast1("perDay.restart", g.PerDay.Restart), atLeast1("perDay.reset", g.PerDay.Reset),
		atLeast1("perDay.reboot", g.PerDay.Reboot), atLeast1("perDay.diag", g.PerDay.Diag),
		{"guards.group", g.Group != "" && !labelKey.MatchString(g.Group), fmt.Sprintf("%q is not a label's key", g.Group)},
		{"guards.namespace", g.Namespace != "" && !nodeName(g.Namespace), fmt.Sprintf("%q is not a namespace's name", g.Namespace)},
		{"guards.outbreak.window", tooShort(g.Outbreak.Window), tells(g.Outbreak.Window)},
		{"guards.ramp.limit", g.Ramp.Limit < g.Ramp.Every, fmt.Sprintf("%s is less than guards.ramp.every", time.Duration(g.Ramp.Limit))},
		{"guards.capacity.contract", g.Capacity.Contract != "" && (!nodeName(namespace) || !nodeName(name)),
			fmt.Sprintf("%q is not namespace/name", g.Capacity.Contract)},
		{"guards.capacity.prometheus", g.Capacity.Contract != "" && !isURL(g.Capacity.Prometheus),
			fmt.Sprintf("%q is not a URL with http or https, and there is a contract", g.Capacity.Prometheus)},
	}
}

// checkModes finds modes of classes that there are not, and modes that are none.
func (c *Config) checkModes() (found []finding) {
	for _, class := range slices.Sorted(maps.Keys(c.Modes)) {
		mode := c.Modes[class]
		found = append(found,
			finding{"modes." + class, !fault.Class(class).Known(), "not a class of fault; docs/faults.md has them"},
			finding{"modes." + class, !mode.Valid(), fmt.Sprintf("%q is not observe, contain or repair", mode)})
	}
	return found
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
