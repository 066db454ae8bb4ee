package bench

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// rest is how long the processor time is measured.
const rest = time.Minute

// goMemoryLimit is GOMEMLIMIT in deploy/daemonset.yaml.
const goMemoryLimit = "GOMEMLIMIT=96MiB"

// BenchmarkAtRest measures what each process costs on a healthy node with eight
// GPUs, at the default pace and with the watch on a real API server: the daemon
// and the NVML child, and the DCGM child where it is enabled, beside an engine
// that runs.
func BenchmarkAtRest(b *testing.B) {
	b.Run("nvml", func(b *testing.B) { resting(b, "at-rest", false) })
	b.Run("nvml+dcgm", func(b *testing.B) { resting(b, "at-rest-with-dcgm", true) })
}

func resting(b *testing.B, name string, dcgm bool) {
	cluster := shared.Cluster(b)
	programs.Deploy(b, cluster)
	d := programs.New(b)
	d.OnCluster(cluster, name, daemontest.Account())
	usual := config.Default()
	d.Config.NVML, d.Config.DCGM, d.Config.Contain = usual.NVML, usual.DCGM, usual.Contain
	if d.Config.DCGM.Enabled = dcgm; dcgm {
		d.Must(d.Sim.DCGM().Start(usual.DCGM.Address))
	}
	d.Env = append(d.Env, goMemoryLimit)
	for b.Loop() {
		d.StartReady()
		d.AwaitSettled()
		settleDown(b, d)
		before := d.Parts()
		time.Sleep(rest)
		costs(b, before, d.Parts())
		b.ReportMetric(0, "ns/op")
		d.Kill()
	}
}

// costs reports each process and all of them together.
func costs(b *testing.B, before, after []daemontest.Part) {
	b.Helper()
	if len(before) != len(after) {
		b.Fatalf("processes %+v, then %+v", before, after)
	}
	var memory, share float64
	for i, part := range after {
		m, s := mebibytes([]int{part.Memory}), 100*(part.CPU-before[i].CPU).Seconds()/rest.Seconds()
		b.ReportMetric(m, part.Name+"-PSS-MiB")
		b.ReportMetric(s, part.Name+"-core-%")
		memory, share = memory+m, share+s
	}
	b.ReportMetric(memory, "PSS-MiB")
	b.ReportMetric(share, "core-%")
}

// settleDown lets three polls pass, so that the start is not measured, and DCGM,
// where it is enabled, connect.
func settleDown(b *testing.B, d *daemontest.Daemon) {
	b.Helper()
	from := d.Status().Driver.Polls
	daemontest.Await(b, "three polls have passed", func() bool {
		s := d.Status()
		return s.Driver.Polls >= from+3 && (!s.DCGM.Enabled || s.DCGM.Version != "")
	})
}

func mebibytes(parts []int) (sum float64) {
	for _, bytes := range parts {
		sum += float64(bytes) / (1 << 20)
	}
	return sum
}
