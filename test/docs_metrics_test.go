package test

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
)

var (
	metricName = regexp.MustCompile(`\bgpuhealthd_[a-z_]+`)
	// described is what a prometheus.Desc's text has: the name, and the labels.
	described = regexp.MustCompile(`fqName: "([a-z_]+)".* variableLabels: \{(.*)\}\}$`)
	alert     = regexp.MustCompile(`(?m)^  - alert: (\w+)$`)
	// series is what a histogram's names end in.
	series = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// names is a Registerer that keeps the names of all metrics, and the labels of each.
type names map[string][]string

func (n names) has(name string) bool {
	_, has := n[name]
	return has
}

func (n names) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		found := described.FindStringSubmatch(d.String())
		n[found[1]] = strings.Split(found[2], ",")
	}
	return nil
}

func (n names) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		_ = n.Register(c)
	}
}

func (n names) Unregister(prometheus.Collector) bool { return false }

// metrics are the names of all that the daemon exports under its prefix.
func metrics(t *testing.T) names {
	t.Helper()
	found := names{"gpuhealthd_build_info": {"version", "revision", "goversion"}} // made in cmd/gpuhealthd
	dir := t.TempDir()
	boot := filepath.Join(dir, "boot_id")
	if err := os.WriteFile(boot, []byte("documents"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{
		Log: slog.New(slog.DiscardHandler), Metrics: agent.NewMetrics(found),
		Kernel:    kernlog.Config{Path: filepath.Join(dir, "kmsg"), BootIDPath: boot},
		StatePath: filepath.Join(dir, "state.db"),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Register(found)
	return found
}

func TestMetricsAreDocumented(t *testing.T) {
	exported := metrics(t)
	documented := names{}
	for _, d := range documents(t) {
		for _, name := range metricName.FindAllString(strings.Join(d.code, "\n"), -1) {
			if d.path == filepath.Join("docs", "metrics.md") {
				documented[name] = nil
			}
			if !exported.has(name) && !exported.has(series.ReplaceAllString(name, "")) {
				t.Errorf("%s names %s, which is not exported", d.path, name)
			}
		}
	}
	for name := range exported {
		if !documented.has(name) {
			t.Errorf("docs/metrics.md does not name %s", name)
		}
	}
}

func TestAlertsAreDocumented(t *testing.T) {
	exported := metrics(t)
	rules, err := os.ReadFile("../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range metricName.FindAllString(string(rules), -1) {
		if name = series.ReplaceAllString(name, ""); !exported.has(name) {
			t.Errorf("deploy/alerts.yaml names %s, which is not exported", name)
		}
	}
	code := readDocument(t, "../docs/metrics.md").code
	for _, found := range alert.FindAllStringSubmatch(string(rules), -1) {
		if !slices.Contains(code, found[1]) {
			t.Errorf("docs/metrics.md does not name the alert %s", found[1])
		}
	}
}
