// Package bench measures the real daemon from outside: how long a kernel line
// takes to become a cordon, what the daemon costs at rest, and what a flood
// does to it. make bench runs it; docs/performance.md has the figures.
//
// With GPUHEALTHD_TEST_KMSG=1 the lines go through this machine's /dev/kmsg,
// with a PCI domain that no machine has; without it through a file of records.
package bench

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

var (
	programs daemontest.Programs
	shared   kubetest.Shared
)

func TestMain(m *testing.M) {
	if path := os.Getenv(floorVariable); path != "" {
		if err := floor(path); err != nil {
			fmt.Fprintln(os.Stderr, "floor:", err)
			os.Exit(1)
		}
		return
	}
	defer programs.Remove()
	defer shared.Stop()
	m.Run()
}

// real says whether the lines go through this machine's kernel log.
func real() bool { return os.Getenv(daemontest.KmsgVariable) != "" }

// onRealKernel lets the daemon hear this machine's kernel log where that is
// allowed.
func onRealKernel(d *daemontest.Daemon) {
	if real() {
		d.Config.KernelLog.Path, d.Config.KernelLog.BootIDPath = kernlog.DefaultPath, kernlog.DefaultBootIDPath
		d.Config.KernelLog.AcceptUserspace = true
	}
}

// inject writes one line to the log that the daemon hears.
func inject(d *daemontest.Daemon, line string) error {
	if real() {
		return daemontest.WriteKmsg(line)
	}
	return d.Sim.Kmsg(line)
}

// quantiles reports the median and the 99th percentile, in milliseconds.
func quantiles(b *testing.B, name string, took []time.Duration) (p50, p99 float64) {
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(len(took)-1, int(q*float64(len(took))))]) / float64(time.Millisecond)
	}
	p50, p99 = at(0.50), at(0.99)
	b.ReportMetric(p50, name+"-p50-ms")
	b.ReportMetric(p99, name+"-p99-ms")
	return p50, p99
}
