package kubetest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// StartScheduler runs the real kube-scheduler until the test ends: pods without
// a node get one where it finds a place. A Node of CreateNode is no place before
// it has lost its taint not-ready and tells what can be allocated.
func (c *Cluster) StartScheduler(t testing.TB) {
	t.Helper()
	folder, err := binaries("kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	scheduler, err := process.Start(filepath.Join(c.dir, "kube-scheduler.log"), exec.Command(
		filepath.Join(folder, "kube-scheduler"),
		"--kubeconfig="+Kubeconfig(t, c.Admin()),
		"--leader-elect=false",
		"--secure-port=0",
	))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		scheduler.Kill()
		if t.Failed() {
			t.Logf("kube-scheduler:\n%s", scheduler.Tail())
		}
	})
}
