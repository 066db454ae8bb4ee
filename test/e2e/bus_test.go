package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// bus is a PCI bus: a tree like sysfs.
type bus struct {
	t    *testing.T
	path string
}

// onBus lists GPUs on the daemon's PCI bus, all of them bound to the driver.
func onBus(t *testing.T, d *daemontest.Daemon, addresses ...string) bus {
	t.Helper()
	b := bus{t, t.TempDir()}
	for _, address := range addresses {
		must(t, os.Mkdir(b.of(address, ""), 0o755))
		for name, text := range map[string]string{"vendor": "0x10de\n", "class": "0x030200\n", "config": "\xde\x10" + string(make([]byte, 254))} {
			must(t, os.WriteFile(b.of(address, name), []byte(text), 0o644))
		}
		must(t, os.Symlink("../../drivers/nvidia", b.of(address, "driver")))
	}
	d.Config.NVML.BusPath = b.path
	return b
}

// of is a file of a device.
func (b bus) of(address, name string) string { return filepath.Join(b.path, address+".0", name) }

// bind gives a device to another driver of the kernel.
func (b bus) bind(address, driver string) {
	b.t.Helper()
	must(b.t, os.Remove(b.of(address, "driver")))
	must(b.t, os.Symlink("../../drivers/"+driver, b.of(address, "driver")))
}

// die lets a device answer with all ones, which lspci shows as rev ff.
func (b bus) die(address string) {
	b.t.Helper()
	must(b.t, os.WriteFile(b.of(address, "config"), bytes.Repeat([]byte{0xff}, 256), 0o644))
}

// addresses are those of all the daemon's GPUs.
func addresses(d *daemontest.Daemon) (all []string) {
	for i := range 8 {
		all = append(all, d.GPU(i).PCI)
	}
	return all
}

// TestAGPUThatTheDriverDoesNotList is on the bus after a boot, and nowhere else. It is
// lost, by the memory of a life before, and named as it was known then.
func TestAGPUThatTheDriverDoesNotList(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	onBus(t, d, addresses(d)...)
	d.StartReady()
	d.Stop()
	missing := d.GPU(6)
	d.Must(d.Sim.Break(missing.UUID))
	d.Must(d.Sim.Reboot())
	d.StartReady()
	if v := awaitSeen(t, d, 2, fault.GPULost, missing.UUID).Verdict; v.Action != fault.Reboot || v.Radius != fault.Node || !v.Hard {
		t.Errorf("verdict %+v", v)
	}
	d.AwaitLog("would cordon the node")

	d.Stop()
	d.Must(d.Sim.Restore(missing.UUID))
	d.Must(d.Sim.Reboot())
	d.StartReady()
	awaitOver(t, d, fault.GPULost, missing.UUID)
}

// TestTheBusIsAWitness: that a GPU is off it says the kernel, and the bus whether
// the GPU's configuration space still answers. Both are known before a reboot.
func TestTheBusIsAWitness(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	bus := onBus(t, d, addresses(d)...)
	d.StartReady()
	dead, alive := d.GPU(2), d.GPU(5)
	bus.die(dead.PCI)
	for _, g := range []node.GPU{dead, alive} {
		d.Must(d.Sim.Lose(g.UUID))
		d.Say(daemontest.XID(g.PCI, daemontest.OffTheBus))
	}
	for uuid, words := range map[string]string{dead.UUID: "its PCI configuration space reads all ones", alive.UUID: "but its PCI configuration space still answers"} {
		daemontest.Await(t, "the verdict says what the bus does: "+words, func() bool {
			found, ok := openIncident(d.Status(), fault.XID79, uuid)
			return ok && found.Verdict.Action == fault.Reboot && strings.Contains(found.Verdict.Reason+strings.Join(found.Verdict.Evidence, "\n"), words)
		})
	}
}

// TestAGPUOfAGuest is bound to vfio-pci while nobody has it open, and so not the
// driver's to list: neither the agent that runs nor the next one misses it.
func TestAGPUOfAGuest(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	bus := onBus(t, d, addresses(d)...)
	d.StartReady()
	passed := d.GPU(4)
	must(t, syscall.Kill(d.Family()[1], syscall.SIGSTOP))
	bus.bind(passed.PCI, "vfio-pci")
	d.Must(d.Sim.Break(passed.UUID))
	d.Must(d.Sim.Reboot())
	must(t, syscall.Kill(d.Family()[1], syscall.SIGKILL))
	daemontest.Await(t, "it is not listed any more", func() bool { return d.Metric("gpus", `state="unknown"`) == 1 })
	awaitPolls(t, d, 4)
	d.Stop()
	d.StartReady()
	awaitPolls(t, d, 4)
	if incidents := d.Status().Incidents; len(incidents) > 0 || cordoned(d) {
		t.Errorf("incidents %+v", incidents)
	}
}

// TestFewerGPUsThanExpected needs no bus: somebody has said how many there are.
func TestFewerGPUsThanExpected(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Config.NVML.Expect = 9
	d.StartReady()
	if v := awaitSeen(t, d, 2, fault.GPUCountShort, "").Verdict; v.Action != fault.Reboot || v.Radius != fault.Node {
		t.Errorf("verdict %+v", v)
	}
	awaitPolls(t, d, 2*d.Config.Contain.CleanPolls)
	awaitOpen(t, d, fault.GPUCountShort, "")
	if !cordoned(d) {
		t.Error("the node is not taken out of service")
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
