package probe

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// open lists the device files that any process has open below a folder.
func open(t *testing.T, folder string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	must(t, err)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, folder) && strings.Contains(target, "/dev/nvidia") {
			list = append(list, file+" "+target)
		}
	}
	return list
}

// quiet is a probe under its parent, on a simulated node.
type quiet struct {
	t           *testing.T
	node        *node.Node
	folder      string
	probe       *nvml.Probe
	inventories chan struct{}
}

func newQuiet(t *testing.T) *quiet {
	q := &quiet{t: t, folder: t.TempDir(), inventories: make(chan struct{})}
	var err error
	q.node, err = node.New(q.folder, "hgx-h100")
	must(t, err)
	q.probe = nvml.New(nvml.Config{Command: []string{os.Args[0]}, Lock: t.TempDir(), Deadline: deadline,
		Env: append(q.node.Env(simulated(t)), asProbe+"="+quick.String(), "GORACE=atexit_sleep_ms=0")})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.probe.Run(ctx, func(r nvml.Report) {
			if r.Kind == nvml.KindInventory {
				select {
				case q.inventories <- struct{}{}:
				default:
				}
			}
		})
	}()
	t.Cleanup(func() { stop(); <-ended })
	return q
}

// Before a reset nothing of ours has a GPU open, and afterwards we poll again.
func TestQuiet(t *testing.T) {
	q := newQuiet(t)
	for range 2 {
		<-q.inventories
		if n := len(open(t, q.folder)); n != 9 {
			t.Errorf("%d device files are open while it polls, want nine", n)
		}
		must(t, q.probe.Quiet(t.Context()))
		if list := open(t, q.folder); len(list) > 0 {
			t.Errorf("open while it is quiet: %s", strings.Join(list, "; "))
		}
		q.probe.Resume()
	}
	<-q.inventories
}

// A call that does not return keeps nobody from making it quiet where the kernel
// lets the process go; and whoever waits for that has a deadline.
func TestQuietInTime(t *testing.T) {
	q := newQuiet(t)
	<-q.inventories
	must(t, q.node.Hang("*", "", node.Forever))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, q.probe.Quiet(ctx))
	if list := open(t, q.folder); len(list) > 0 {
		t.Errorf("open while it is quiet: %s", strings.Join(list, "; "))
	}
}
