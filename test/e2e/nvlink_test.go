package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// hostProc is what a pod sees of the host's processes, at $HOST_PROC.
type hostProc struct {
	t   *testing.T
	dir string
}

func hostOf(t *testing.T, d *daemontest.Daemon) hostProc {
	h := hostProc{t, filepath.Join(t.TempDir(), "host", "proc")}
	h.runs(2, "kthreadd")
	d.Config.Repair.Proc = ""
	d.Env = append(d.Env, "HOST_PROC="+h.dir)
	return h
}

// runs adds a process.
func (h hostProc) runs(pid int, name string) {
	h.t.Helper()
	folder := filepath.Join(h.dir, strconv.Itoa(pid))
	must := func(err error) {
		if err != nil {
			h.t.Fatal(err)
		}
	}
	must(os.MkdirAll(folder, 0o755))
	must(os.WriteFile(filepath.Join(folder, "comm"), []byte(name+"\n"), 0o644))
}

// TestAFabricManagerThatDies is found by the host's processes, on a node that has its
// switches, though no log tells of it and every GPU is in order.
func TestAFabricManagerThatDies(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	h := hostOf(t, d)
	h.runs(812, "nv-fabricmanage")
	d.StartReady()
	daemontest.Await(t, "the links are known", func() bool { return strings.Contains(d.Call("topology", "--url", d.URL()), "18 of 18 links up") })
	if err := os.RemoveAll(filepath.Join(h.dir, "812")); err != nil {
		t.Fatal(err)
	}
	v := awaitOpen(t, d, fault.FabricManagerDead, "").Verdict
	if v.Radius != fault.Baseboard || len(v.Affected) != 8 {
		t.Errorf("verdict %+v", v)
	}
}

// TestAFabricManagerThatCannotBeSeen is unknown, and the status says so.
func TestAFabricManagerThatCannotBeSeen(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	d.AwaitLog("only the journal tells", "see the host's processes in")
	daemontest.Await(t, "the status says so", func() bool {
		return strings.Contains(d.StatusText(), "Services  fabric manager: unknown: see the host's processes")
	})
}

// TestATrayOfARack: what its GPUs tell is drawn; IMEX is asked while programs use it,
// by a tool that hangs and is ended for that. Without a cluster nobody can be heard:
// of a link that is down on every GPU the reason says so.
func TestATrayOfARack(t *testing.T) {
	t.Parallel()
	d := programs.NewOn(t, "gb200-tray")
	hostOf(t, d).runs(700, "nvidia-imex")
	d.Config.IMEX = config.IMEX{Command: []string{"sleep", "1000"}, Deadline: config.Duration(200 * time.Millisecond)}
	for i := range 4 {
		d.Must(d.Sim.Work(d.GPU(i).UUID, 90))
	}
	d.StartReady()
	daemontest.Await(t, "the links are known", func() bool { return strings.Contains(d.Call("topology", "--url", d.URL()), "18 of 18 links up") })
	for _, text := range []string{"chassis 1821325191570", "fabric completed", "domain 7b1c0f2e-5d8a-4c3c-9b6e-2f4a1d0c8e57.1"} {
		if drawn := d.Call("topology", "--url", d.URL()); !strings.Contains(drawn, text) {
			t.Errorf("no %q in\n%s", text, drawn)
		}
	}
	daemontest.Await(t, "the tool is ended", func() bool { return strings.Contains(d.Status().Services.IMEX, "deadline exceeded") })
	for i := range 4 {
		d.Say("NVRM: Xid (PCI:" + d.GPU(i).PCI + "): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)")
	}
	v := awaitOpen(t, d, fault.Class("xid-149"), d.GPU(3).UUID).Verdict
	if !strings.Contains(v.Reason, "the domain is unknown") || v.Action != fault.Hold {
		t.Errorf("verdict %+v", v)
	}
}
