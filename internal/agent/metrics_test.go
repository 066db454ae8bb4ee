package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// TestMetrics holds the names, types, labels and help of all that is exported,
// from an agent that has an incident.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1, linkedBy(func(r *nvlink.Reading) {
			worn(&r.Links[3])
		}))
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.opts.Metrics.Request("PATCH", "nodes", "200", time.Millisecond)
		surface := describe(t, s.metrics)
		s.stop()
		if problems, err := testutil.GatherAndLint(s.metrics); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		golden.Check(t, "testdata/metrics.txt", surface)
	})
}

// describe gives what does not depend on values.
func describe(t *testing.T, reg *prometheus.Registry) string {
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		fmt.Fprintf(&b, "%s{%s} %s\n  %s\n", f.GetName(), strings.Join(labels, ", "), strings.ToLower(f.GetType().String()), f.GetHelp())
	}
	return b.String()
}

// TestLabelsAreBounded: a number that no catalogue has does not make a series
// of its own.
func TestLabelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		for code := range 3000 {
			s.log.say(xid(code%gpus, fmt.Sprintf("%d, pid=1, something", 100000+code)),
				fmt.Sprintf("nvidia-nvswitch0: SXid (PCI:0000:07:00.0): %d, Fatal, Link 32 something", 500000+code))
		}
		synctest.Wait()
		families, err := s.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if n := len(f.GetMetric()); n > 40 {
				t.Errorf("%s has %d series: %v", f.GetName(), n, firstLabels(f))
			}
		}
		s.stop()
	})
}

func firstLabels(f *dto.MetricFamily) (values []string) {
	for _, m := range f.GetMetric()[:5] {
		for _, l := range m.GetLabel() {
			values = append(values, l.GetValue())
		}
	}
	return slices.Compact(values)
}

func TestCodeLabel(t *testing.T) {
	for _, c := range []struct {
		line, want string
	}{
		{xid(1, uncontained), "95"},
		{xid(1, "4711, pid=1, something"), "other"},
		{"nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 32 LTSSM Fault Up", "20034"},
		{"nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 4711, Fatal, Link 32 something", "other"},
	} {
		ev, ok := xidparse.Parse(c.line)
		if got := codeLabel(ev); !ok || got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
