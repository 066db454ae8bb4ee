package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// A life of the daemon sees as many faults as a node has GPUs, each a new
// incident; then it starts anew. Both programs take turns, so that what else
// the machine does meets both.
const (
	lives   = 25
	perLife = 8
)

// BenchmarkKernelLineToCordon measures from before the line is written until a
// watch on the Node shows the cordon, for the daemon and for the floor.
func BenchmarkKernelLineToCordon(b *testing.B) {
	cluster := shared.Cluster(b)
	programs.Deploy(b, cluster)
	for b.Loop() {
		var ours, least []time.Duration
		for life := range lives {
			ours = append(ours, daemonLife(b, cluster, life)...)
			least = append(least, floorLife(b, cluster, life)...)
		}
		_, p99 := quantiles(b, "daemon", ours)
		_, floor := quantiles(b, "floor", least)
		b.ReportMetric(p99/floor, "p99-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// pci is an address that no machine has.
func pci(gpu int) string { return fmt.Sprintf("fffe:%02x:00", 0x30+gpu) }

func daemonLife(b *testing.B, cluster *kubetest.Cluster, life int) (took []time.Duration) {
	b.Helper()
	return lifeWith(b, cluster, fmt.Sprintf("ours-%d", life), func(*daemontest.Daemon) {})
}

// lifeWith is a life of the daemon with another configuration.
func lifeWith(b *testing.B, cluster *kubetest.Cluster, name string, change func(*daemontest.Daemon)) (took []time.Duration) {
	b.Helper()
	d := programs.New(b)
	d.OnCluster(cluster, name, daemontest.Account())
	onRealKernel(d)
	change(d)
	s := observe(b, cluster, name)
	d.StartReady()
	for gpu := range perLife {
		d.AwaitSettled()
		took = append(took, s.timed(func() error { return inject(d, daemontest.XID(pci(gpu), daemontest.Uncontained)) }))
		d.AwaitSettled()
		s.release()
	}
	d.Kill()
	return took
}

func floorLife(b *testing.B, cluster *kubetest.Cluster, life int) (took []time.Duration) {
	b.Helper()
	name := fmt.Sprintf("floor-%d", life)
	d := programs.New(b) // for its log alone
	d.OnCluster(cluster, name, daemontest.Account())
	onRealKernel(d)
	s := observe(b, cluster, name)
	floor := startFloor(b, d, name)
	defer floor.Kill()
	for gpu := range perLife {
		took = append(took, s.timed(func() error { return inject(d, daemontest.XID(pci(gpu), daemontest.Uncontained)) }))
		s.release()
	}
	return took
}

// timed does something and says how long after its beginning the Node was
// cordoned.
func (s *subject) timed(do func() error) time.Duration {
	s.b.Helper()
	began := time.Now()
	if err := do(); err != nil {
		s.b.Fatal(err)
	}
	return s.cordoned(began)
}

func startFloor(b *testing.B, d *daemontest.Daemon, node string) *process.Process {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), floorVariable+"="+d.Config.KernelLog.Path, floorNode+"="+node,
		floorKubeconfig+"="+d.Config.Kubernetes.Kubeconfig, floorDisk+"="+filepath.Join(dir, "lines"))
	p, err := process.Start(filepath.Join(dir, "log"), cmd)
	if err != nil {
		b.Fatal(err)
	}
	daemontest.Await(b, "the floor listens", func() bool { return strings.Contains(p.Output(), floorListens) })
	return p
}
