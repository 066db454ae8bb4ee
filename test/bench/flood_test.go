package bench

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

const flood = 20_000

// shippedCPU is the limit in deploy/daemonset.yaml, as a part of one core.
const shippedCPU = 0.1

// BenchmarkFlood writes 20,000 lines of one fault as fast as one writer can,
// and waits until each is judged or counted as lost.
func BenchmarkFlood(b *testing.B) {
	b.Run("unlimited", func(b *testing.B) { floods(b, func(*daemontest.Daemon) {}) })
	b.Run("shipped-limit", func(b *testing.B) {
		floods(b, func(d *daemontest.Daemon) { limitCPU(b, d, shippedCPU) })
	})
}

func floods(b *testing.B, limit func(*daemontest.Daemon)) {
	b.Helper()
	for b.Loop() {
		d := programs.New(b)
		onRealKernel(d)
		d.Env = append(d.Env, goMemoryLimit)
		d.StartReady()
		limit(d)
		lostBefore := d.Metric("kernel_log_lost_records_total")
		began, used := time.Now(), d.CPU()
		for range flood {
			if err := inject(d, daemontest.XID(pci(0), daemontest.Uncontained)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(flood/time.Since(began).Seconds(), "written/s")
		var lost float64
		daemontest.Await(b, "every line is accounted for", func() bool {
			lost = d.Metric("kernel_log_lost_records_total") - lostBefore
			return heard(d)+lost >= flood
		})
		b.ReportMetric(time.Since(began).Seconds(), "s")
		b.ReportMetric((d.CPU() - used).Seconds(), "cpu-s")
		b.ReportMetric(lost, "lost")
		b.ReportMetric(mebibytes(d.Memory()), "PSS-MiB")
		b.ReportMetric(mebibytes(d.PeakMemory()), "peak-RSS-MiB")
		b.ReportMetric(0, "ns/op")
		d.Kill()
	}
}

// heard is how many lines of the flood were judged: one incident.
func heard(d *daemontest.Daemon) float64 {
	for _, i := range d.Status().Incidents {
		if len(i.Verdict.GPUs) == 1 && i.Verdict.GPUs[0].PCI.String() == pci(0) {
			return float64(i.Verdict.Count)
		}
	}
	return 0
}
