// Package sim_test asks the simulated driver library through the real go-nvml,
// as any program would.
package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// open builds the library and opens it on a new node.
func open(t *testing.T, profile string) (*node.Node, nvml.Interface) {
	t.Helper()
	if out, err := exec.Command("make", "OUT=../build/sim").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	n, err := node.New(t.TempDir(), profile)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range n.Env("") {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	library, err := filepath.Abs("../build/sim/libnvidia-ml.so.1")
	if err != nil {
		t.Fatal(err)
	}
	lib := nvml.New(nvml.WithLibraryPath(library))
	check(t, "init", lib.Init(), nvml.SUCCESS)
	t.Cleanup(func() { check(t, "shutdown", lib.Shutdown(), nvml.SUCCESS) })
	return n, lib
}

func check(t *testing.T, what string, got, want nvml.Return) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v (%d), want %v (%d)", what, got, int(got), want, int(want))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHandles(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	g, err := n.GPU("3")
	must(t, err)
	_, ret := lib.DeviceGetHandleByIndex(8)
	check(t, "index 8", ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = lib.DeviceGetHandleByUUID("GPU-0")
	check(t, "unknown UUID", ret, nvml.ERROR_NOT_FOUND)
	_, ret = lib.DeviceGetHandleByPciBusId("0000:00:00.0")
	check(t, "unknown address", ret, nvml.ERROR_NOT_FOUND)

	byUUID, ret := lib.DeviceGetHandleByUUID(g.UUID)
	check(t, "by UUID", ret, nvml.SUCCESS)
	for _, address := range []string{"00000000:61:00.0", "0000:61:00", "61:00.0"} {
		dev, ret := lib.DeviceGetHandleByPciBusId(address)
		check(t, address, ret, nvml.SUCCESS)
		if dev != byUUID {
			t.Errorf("%s is another GPU than %s", address, g.UUID)
		}
	}
	info, ret := byUUID.GetPciInfo()
	check(t, "PCI info", ret, nvml.SUCCESS)
	if id := text(info.BusId[:]); id != "00000000:61:00.0" {
		t.Errorf("busId %q", id)
	}
	if id := text(info.BusIdLegacy[:]); id != "0000:61:00.0" {
		t.Errorf("busIdLegacy %q", id)
	}
}

func text(chars []int8) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

func TestLost(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	dev, ret := lib.DeviceGetHandleByIndex(1)
	check(t, "handle", ret, nvml.SUCCESS)
	uuid, _ := dev.GetUUID()
	must(t, n.Lose(uuid))

	_, ret = dev.GetUUID()
	check(t, "old handle", ret, nvml.ERROR_GPU_IS_LOST)
	_, ret = lib.DeviceGetHandleByIndex(1)
	check(t, "by index", ret, nvml.ERROR_GPU_IS_LOST)
	_, ret = lib.DeviceGetHandleByUUID(uuid)
	check(t, "by UUID", ret, nvml.ERROR_GPU_IS_LOST)
	if count, ret := lib.DeviceGetCount(); count != 8 || ret != nvml.SUCCESS {
		t.Errorf("count %d (%v): it does not shrink while the library is open", count, ret)
	}
	if s := nvml.ERROR_GPU_IS_LOST.Error(); s != "GPU is lost" {
		t.Errorf("error string %q", s)
	}
}

func TestFields(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	must(t, n.Recovery("0", 2))
	must(t, n.Remap("0", "pending"))
	dev, ret := lib.DeviceGetHandleByIndex(0)
	check(t, "handle", ret, nvml.SUCCESS)
	fields := []nvml.FieldValue{
		{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION},
		{FieldId: nvml.FI_DEV_REMAPPED_PENDING},
		{FieldId: nvml.FI_DEV_REMAPPED_FAILURE},
		{FieldId: nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION}, // not simulated: it says so
	}
	check(t, "fields", dev.GetFieldValues(fields), nvml.SUCCESS)
	want := []struct {
		value byte
		ret   nvml.Return
	}{{2, nvml.SUCCESS}, {1, nvml.SUCCESS}, {0, nvml.SUCCESS}, {0, nvml.ERROR_NOT_SUPPORTED}}
	for i, f := range fields {
		if f.Value[0] != want[i].value || nvml.Return(f.NvmlReturn) != want[i].ret {
			t.Errorf("field %d: %d (%v), want %+v", f.FieldId, f.Value[0], nvml.Return(f.NvmlReturn), want[i])
		}
	}
}

func TestWithoutMIG(t *testing.T) {
	_, lib := open(t, "pcie-l40s")
	dev, ret := lib.DeviceGetHandleByIndex(0)
	check(t, "handle", ret, nvml.SUCCESS)
	_, _, ret = dev.GetMigMode()
	check(t, "MIG mode", ret, nvml.ERROR_NOT_SUPPORTED)
}

// A process that has the library open is not hit by a mismatch: only new ones.
func TestMismatch(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	must(t, n.Mismatch(true))
	if _, ret := lib.DeviceGetCount(); ret != nvml.SUCCESS {
		t.Errorf("count while open: %v", ret)
	}
	check(t, "init", lib.Init(), nvml.ERROR_LIB_RM_VERSION_MISMATCH)
}

func TestEditedByHand(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	conf := strings.TrimPrefix(n.Env("")[0], "GPUHEALTHD_SIM=") + "/node.conf"
	whole, err := os.ReadFile(conf)
	must(t, err)
	write := func(s string) { must(t, os.WriteFile(conf, []byte(s), 0o644)) }

	write("driver = 1") // as when an editor is in the middle of writing
	if v, ret := lib.SystemGetDriverVersion(); v != "570.195.03" || ret != nvml.SUCCESS {
		t.Errorf("half a file: driver %q, %v, want the last good state", v, ret)
	}
	write(strings.Replace(string(whole), "570.195.03", "580.1", 1))
	if v, _ := lib.SystemGetDriverVersion(); v != "580.1" {
		t.Errorf("driver %q, want the edited 580.1", v)
	}
	must(t, os.Remove(conf))
	_, ret := lib.SystemGetDriverVersion()
	check(t, "without a node", ret, nvml.ERROR_UNKNOWN)
	check(t, "init without a node", lib.Init(), nvml.ERROR_DRIVER_NOT_LOADED)
}
