// Package soak lets the real daemon watch healthy serving engines in real time, which
// look stalled now and then and are not. make soak runs it.
package soak

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/enginetest"
)

// lengthVariable says how long, such as 10m; without it nothing is run.
const lengthVariable = "SOAK"

// told is how often it is said how far it is.
const told = 30 * time.Second

var programs daemontest.Programs

func TestMain(m *testing.M) {
	defer programs.Remove()
	m.Run()
}

// TestNothingIsStalled: at the defaults, on eight GPUs, with an engine on each that plays
// its part until the end. Any verdict that acts is one too many.
func TestNothingIsStalled(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(lengthVariable))
	if err != nil {
		t.Skipf("%s is not set to a duration, such as 10m: make soak does", lengthVariable)
	}
	d := programs.New(t)
	d.Config.NVML, d.Config.Mode = config.Default().NVML, remediate.Repair
	d.Config.NVML.BusPath = ""
	d.Config.Repair.Drain.Mode, d.Config.Repair.Restart.Mode = remediate.MeansOff, remediate.MeansOff
	d.Config.Serving.Enabled = true
	engines := map[string]*enginetest.Engine{}
	for gpu, p := range parts() {
		e := enginetest.Start(t, enginetest.Options{Library: programs.Library(t), Node: d.Sim, GPUs: []int{gpu}, Flags: p.flags})
		engines[p.name] = e
		d.Config.Serving.Engines = append(d.Config.Serving.Engines, config.Engine{Name: p.name, URLs: []string{e.Metrics()}, GPUs: []string{d.GPU(gpu).UUID}})
	}
	d.StartReady()
	ends := time.Now().Add(length)
	for _, p := range parts() {
		go newPlayer(t.Context(), engines[p.name]).play(p)
	}
	for left := length; left > 0; left = time.Until(ends) {
		time.Sleep(min(told, left))
		t.Logf("%s left, %s", time.Until(ends).Round(time.Second), states(d))
		if n := acting(d); n > 0 {
			t.Fatalf("%.0f verdicts act:\n%s", n, d.StatusText())
		}
	}
	if s := d.Status().Serving; s == nil || len(s.Replicas) != len(parts()) {
		t.Errorf("the replicas are %+v", s)
	}
}

// acting counts the verdicts that are to change anything.
func acting(d *daemontest.Daemon) float64 {
	const all = "verdicts_total"
	return d.Metric(all) - d.Metric(all, `action="none"`) - d.Metric(all, `action="record"`)
}

// states says what the daemon holds of each replica.
func states(d *daemontest.Daemon) string {
	s := d.Status().Serving
	if s == nil {
		return "nobody was looked at"
	}
	var all []string
	for _, r := range s.Replicas {
		all = append(all, fmt.Sprintf("%s %v", r.Replica.Name, r.State))
	}
	return strings.Join(all, ", ")
}
