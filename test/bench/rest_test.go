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

// BenchmarkAtRest measures what daemon and child cost on a healthy node with
// eight GPUs, at the default pace and with the watch on a real API server.
func BenchmarkAtRest(b *testing.B) {
	cluster := shared.Cluster(b)
	programs.Deploy(b, cluster)
	d := programs.New(b)
	d.OnCluster(cluster, "at-rest", daemontest.Account())
	d.Config.NVML = config.Default().NVML
	d.Config.Contain = config.Default().Contain
	d.Env = append(d.Env, goMemoryLimit)
	for b.Loop() {
		d.StartReady()
		d.AwaitSettled()
		settleDown(b, d)
		used := d.CPU()
		time.Sleep(rest)
		used = d.CPU() - used
		memory := d.Memory()
		b.ReportMetric(mebibytes(memory[:1]), "daemon-PSS-MiB")
		b.ReportMetric(mebibytes(memory[1:]), "child-PSS-MiB")
		b.ReportMetric(100*used.Seconds()/rest.Seconds(), "core-%")
		b.ReportMetric(0, "ns/op")
		d.Kill()
	}
}

// settleDown lets three polls pass, so that the start is not measured.
func settleDown(b *testing.B, d *daemontest.Daemon) {
	b.Helper()
	from := d.Status().Driver.Answered
	daemontest.Await(b, "three polls have passed", func() bool {
		return d.Status().Driver.Answered.Sub(from) > 3*time.Duration(d.Config.NVML.Period)
	})
}

func mebibytes(parts []int) (sum float64) {
	for _, bytes := range parts {
		sum += float64(bytes) / (1 << 20)
	}
	return sum
}
