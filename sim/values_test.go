package sim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func device(t *testing.T, lib nvml.Interface, index int) nvml.Device {
	t.Helper()
	dev, ret := lib.DeviceGetHandleByIndex(index)
	check(t, "handle", ret, nvml.SUCCESS)
	return dev
}

func TestProfiles(t *testing.T) {
	for profile, want := range map[string]int{"hgx-h100": 8, "hgx-b200": 8, "gb200-tray": 4, "pcie-l40s": 4, "mig-h100": 8} {
		t.Run(profile, func(t *testing.T) {
			n, lib := open(t, profile)
			if count, _ := lib.DeviceGetCount(); count != want {
				t.Errorf("%d GPUs, want %d", count, want)
			}
			gpus, err := n.GPUs()
			must(t, err)
			seen := map[string]bool{}
			for _, g := range gpus {
				if seen[g.UUID] || seen[g.PCI] || seen[g.Serial] {
					t.Errorf("%+v is not the only one", g)
				}
				seen[g.UUID], seen[g.PCI], seen[g.Serial] = true, true, true
			}
		})
	}
}

// Every value that can be set is one that the library knows, or it would not read
// the file.
func TestEveryValue(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	names, err := n.Values()
	must(t, err)
	for _, name := range names {
		for _, to := range []string{"1", node.Unsupported, node.Unknown, node.Blank} {
			must(t, n.Set("0", name, to))
		}
	}
	must(t, n.Set("0", "temperature", "77"))
	if temp, ret := device(t, lib, 0).GetTemperature(nvml.TEMPERATURE_GPU); temp != 77 || ret != nvml.SUCCESS {
		t.Errorf("temperature %d, %v: the file was not read", temp, ret)
	}
}

func TestRate(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	dev := device(t, lib, 0)
	read := func() uint64 {
		count, ret := dev.GetMemoryErrorCounter(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC, nvml.MEMORY_LOCATION_DRAM)
		check(t, "counter", ret, nvml.SUCCESS)
		return count
	}
	must(t, n.ECC("0", "dram", "corrected", 1000))
	must(t, n.Storm("0", 1e6))
	for read() < 2000 {
		time.Sleep(time.Millisecond)
	}
	must(t, n.Storm("0", 0))
	stopped := read()
	if again := read(); again != stopped || stopped < 2000 {
		t.Errorf("%d, then %d: want it to stand still above 2000", stopped, again)
	}
}

func TestResetAndReboot(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	dev := device(t, lib, 0)
	for what, do := range map[string]func() error{"reset": func() error { return n.Reset("0") }, "reboot": n.Reboot} {
		must(t, n.Restore("0"))
		must(t, n.ECC("0", "dram", "uncorrected", 2))
		must(t, n.Remap("0", "pending"))
		must(t, n.Recovery("0", 1))
		must(t, do())
		volatile, _ := dev.GetMemoryErrorCounter(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC, nvml.MEMORY_LOCATION_DRAM)
		aggregate, _ := dev.GetMemoryErrorCounter(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.AGGREGATE_ECC, nvml.MEMORY_LOCATION_DRAM)
		_, rows, pending, _, _ := dev.GetRemappedRows()
		if volatile != 0 || aggregate != 2 || rows != 1 || pending {
			t.Errorf("%s: volatile %d, aggregate %d, rows %d, pending %v; want 0, 2, 1, false", what, volatile, aggregate, rows, pending)
		}
	}
}

func TestGPM(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	must(t, n.Work("0", 60))
	dev := device(t, lib, 0)
	var samples [2]nvml.GpmSample
	for i := range samples {
		sample, ret := lib.GpmSampleAlloc()
		check(t, "alloc", ret, nvml.SUCCESS)
		defer sample.Free()
		samples[i] = sample
	}
	get := nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: samples[0], Sample2: samples[1]}
	get.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_SM_UTIL)
	check(t, "before any sample", lib.GpmMetricsGet(&get), nvml.ERROR_INVALID_ARGUMENT)
	for _, sample := range samples {
		check(t, "sample", sample.Get(dev), nvml.SUCCESS)
	}
	check(t, "metrics", lib.GpmMetricsGet(&get), nvml.SUCCESS)
	if sm := get.Metrics[0].Value; sm != 60 {
		t.Errorf("SM %v, want 60", sm)
	}
}

func TestEvents(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	must(t, n.XID("0", node.XID{Code: 13})) // before anybody listens: missed
	set, ret := lib.EventSetCreate()
	check(t, "create", ret, nvml.SUCCESS)
	defer set.Free()
	for _, i := range []int{0, 1} {
		check(t, "register", device(t, lib, i).RegisterEvents(nvml.EventTypeXidCriticalError, set), nvml.SUCCESS)
	}
	_, ret = set.Wait(0)
	check(t, "nothing", ret, nvml.ERROR_TIMEOUT)
	must(t, n.XID("2", node.XID{Code: 31})) // of a GPU that is not in the set
	gi, ci := 7, 0
	must(t, n.XID("1", node.XID{Code: 48}))
	must(t, n.XID("1", node.XID{Code: 94, GI: &gi, CI: &ci}))
	must(t, n.Lose("0"))
	for _, want := range []nvml.EventData{
		{EventData: 48, GpuInstanceId: 0xffffffff, ComputeInstanceId: 0xffffffff},
		{EventData: 94, GpuInstanceId: 7},
	} {
		got, ret := set.Wait(10_000)
		check(t, "wait", ret, nvml.SUCCESS)
		want.Device, want.EventType = device(t, lib, 1), nvml.EventTypeXidCriticalError
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for range 2 {
		_, ret := set.Wait(10_000)
		check(t, "a lost GPU", ret, nvml.ERROR_GPU_IS_LOST)
	}
}

// Only the last events are kept for those who do not wait.
func TestEventsAreKeptForAWhile(t *testing.T) {
	n, _ := open(t, "hgx-h100")
	for code := range 40 {
		must(t, n.XID("0", node.XID{Code: code}))
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimPrefix(n.Env("")[0], "GPUHEALTHD_SIM="), "node.conf"))
	must(t, err)
	if kept := strings.Count(string(text), "\nxid."); kept != 16 || !strings.Contains(string(text), "\nxid.40 = 0 39\n") {
		t.Errorf("%d events kept, want 16 up to the last", kept)
	}
}

func TestMIG(t *testing.T) {
	_, lib := open(t, "mig-h100")
	dev := device(t, lib, 2)
	uuid, _ := dev.GetUUID()
	var seen []string
	most, ret := dev.GetMaxMigDeviceCount()
	check(t, "most", ret, nvml.SUCCESS)
	for i := range most {
		mig, ret := dev.GetMigDeviceHandleByIndex(i)
		check(t, "instance", ret, nvml.SUCCESS)
		id, _ := mig.GetUUID()
		name, _ := mig.GetName()
		gi, _ := mig.GetGpuInstanceId()
		if slices.Contains(seen, id) || !strings.HasPrefix(id, "MIG-") || !strings.HasSuffix(name, " MIG 1g.10gb") || gi != 7+i {
			t.Errorf("instance %d: %s, %s, GI %d", i, id, name, gi)
		}
		seen = append(seen, id)
	}
	if again, _ := dev.GetUUID(); again != uuid || len(seen) != 7 {
		t.Errorf("GPU %s, then %s; %d instances, want 7", uuid, again, len(seen))
	}
	_, ret = dev.GetGpuInstanceId()
	check(t, "instance of a GPU", ret, nvml.ERROR_NOT_SUPPORTED)
}

func TestDropSymbol(t *testing.T) {
	n, _ := open(t, "hgx-h100")
	folder := ""
	for _, symbol := range []string{"nvmlGpmSampleGet", "nvmlDeviceGetMigMode"} {
		var err error
		folder, err = n.DropSymbol("../build/sim", symbol)
		must(t, err)
	}
	lib := nvml.New(nvml.WithLibraryPath(filepath.Join(folder, "libnvidia-ml.so.1")))
	check(t, "init", lib.Init(), nvml.SUCCESS)
	defer lib.Shutdown()
	for symbol, want := range map[string]bool{"nvmlGpmSampleGet": false, "nvmlDeviceGetMigMode": false, "nvmlGpmSampleAlloc": true, "nvmlShutdown": true} {
		if got := lib.Extensions().LookupSymbol(symbol) == nil; got != want {
			t.Errorf("%s is there: %v, want %v", symbol, got, want)
		}
	}
	if _, err := n.DropSymbol("../build/sim", "nvmlGpmSampleGet"); err == nil {
		t.Error("a symbol is dropped twice")
	}
}
