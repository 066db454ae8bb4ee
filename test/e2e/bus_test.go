package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// onBus lists the daemon's GPUs on a PCI bus: a tree like sysfs, in which
// addresses are those of GPUs that are bound to the driver.
func onBus(t *testing.T, d *daemontest.Daemon, addresses ...string) {
	t.Helper()
	bus := t.TempDir()
	for _, address := range addresses {
		dir := filepath.Join(bus, address+".0")
		must(t, os.Mkdir(dir, 0o755))
		for name, text := range map[string]string{"vendor": "0x10de\n", "class": "0x030200\n", "config": "\xde\x10" + string(make([]byte, 254))} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		must(t, os.Symlink("../../drivers/nvidia", filepath.Join(dir, "driver")))
	}
	d.Config.NVML.BusPath = bus
}

// TestAGPUThatTheDriverDoesNotList is on the bus after a boot, and nowhere else.
// It is named as it was known before.
func TestAGPUThatTheDriverDoesNotList(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	var addresses []string
	for i := range 8 {
		addresses = append(addresses, d.GPU(i).PCI)
	}
	onBus(t, d, addresses...)
	d.StartReady()
	d.Stop()
	missing := d.GPU(6)
	d.Must(d.Sim.Break(missing.UUID))
	d.Must(d.Sim.Reboot())
	d.StartReady()
	if v := awaitOpen(t, d, fault.GPUCountShort, missing.UUID).Verdict; v.Action != fault.Reboot || v.Radius != fault.Node || !v.Hard {
		t.Errorf("verdict %+v", v)
	}
	d.AwaitLog("would cordon the node")

	d.Stop()
	d.Must(d.Sim.Restore(missing.UUID))
	d.Must(d.Sim.Reboot())
	d.StartReady()
	awaitOver(t, d, fault.GPUCountShort, missing.UUID)
}

// TestFewerGPUsThanExpected needs no bus: somebody has said how many there are.
func TestFewerGPUsThanExpected(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Config.NVML.Expect = 9
	d.StartReady()
	if v := awaitOpen(t, d, fault.GPUCountShort, "").Verdict; v.Action != fault.Reboot || v.Radius != fault.Node {
		t.Errorf("verdict %+v", v)
	}
	d.Stop()
	d.Config.NVML.Expect = 8
	d.StartReady()
	awaitOver(t, d, fault.GPUCountShort, "")
}

// TestANodeWithoutGPUs is no node with a broken driver.
func TestANodeWithoutGPUs(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Env = d.Sim.Env("")
	onBus(t, d)
	d.Config.NVML.Grace = config.Duration(0)
	d.Start()
	d.AwaitReady()
	if text := d.StatusText(); !strings.Contains(text, "no GPU of NVIDIA's on the PCI bus") {
		t.Errorf("gpuhealthd status says:\n%s", text)
	}
	judgesAllTheSame(t, d) // the switches' and a guest's lines come here too
	if _, blind := openIncident(d.Status(), fault.AgentBlind, ""); blind {
		t.Error("a node without a GPU is called blind")
	}
}
