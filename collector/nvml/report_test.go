package nvml

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func ptr[T any](v T) *T { return &v }

// wire are reports with every field set at least once, and unknown ones unset.
var wire = []Report{
	InventoryReport(Inventory{Driver: "570.195.03", NVML: "12.570.195.03", GPUs: []GPU{
		{
			Index: 0,
			Identity: Identity{
				UUID: "GPU-1", PCI: xidparse.PCI{Domain: 0x10008, Bus: 0x1b}, Serial: "165", Name: "H100", Minor: ptr(0),
			},
			MIG: ptr(false), Recovery: ptr(0), Remap: &Remap{Failed: true},
		},
		{Index: 1, Lost: true, Error: &Error{Op: "nvmlDeviceGetHandleByIndex", Code: 15, Text: "GPU is lost"}},
		{Index: 2, Identity: Identity{UUID: "GPU-2"}, Stuck: "nvmlDeviceGetName"},
	}}),
	InventoryReport(Inventory{
		GPUs: []GPU{{
			ECC:         ECC{Enabled: ptr(true), Volatile: Counts{DRAMCorrected: ptr(uint64(9_600_000_000))}},
			Temperature: Temperature{Margin: ptr(-3)},
			NVLink: &nvlink.Reading{Generation: 5, Links: []nvlink.Link{{Index: 3, State: nvlink.Active, Remote: nvlink.RemoteSwitch,
				Peer: &nvlink.Address{Bus: 5}, Counters: nvlink.Counters{Recoveries: ptr(uint64(505)), EffectiveBER: ptr(15e-255), FEC: []uint64{1, 0}}}},
				Fabric: &nvlink.Fabric{Version: 3, State: nvlink.FabricCompleted, Status: ptr(0), Mask: ptr(uint32(0x1aa))}, Platform: &nvlink.Platform{Tray: 6}},
			Instances: []Instance{{UUID: "MIG-1", GI: 7, Profile: "1g.10gb"}},
			Failed:    map[Value]int{ValueECCSRAM: 999, ValueTemperature: Impossible},
		}},
		Calls: []Cost{{Name: "nvmlInit", Count: 1, Seconds: 0.25}}, Fields: []Cost{{Name: "230", Count: 8}},
	}),
	InventoryReport(Inventory{GPUs: []GPU{{}}, Stuck: &Hung{Call: "nvmlEventSetWait", Seconds: 3.5}}),
	HelloReport(Hello{Driver: "570.195.03", NVML: "12.570.195.03", Lacks: []string{"nvmlGpmSampleGet"}}),
	XIDReport(XID{Code: 94, UUID: "GPU-1", GI: ptr(7), CI: ptr(0), Count: 3}),
	HungReport(Hung{Call: "nvmlDeviceGetName", Index: ptr(0), UUID: "GPU-1", Seconds: 3.5}),
	HungReport(Hung{Call: "nvmlInit", Seconds: 3}),
	FailedReport(Error{Op: "nvmlInit", Code: 18, Text: "Driver/library version mismatch"}),
}

func TestReportWire(t *testing.T) {
	for _, want := range wire {
		var line bytes.Buffer
		if err := want.Write(&line); err != nil {
			t.Fatal(err)
		}
		if got, err := parseReport(line.Bytes()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s came back as %+v, %v", line.Bytes(), got, err)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	for _, r := range wire {
		var line bytes.Buffer
		if err := r.Write(&line); err != nil {
			f.Fatal(err)
		}
		f.Add(line.Bytes())
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseReport(line)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := r.Write(&again); err != nil {
			t.Fatalf("%q was read but cannot be written: %v", line, err)
		}
		if _, err := parseReport(again.Bytes()); err != nil {
			t.Fatalf("%q was read and written as %q: %v", line, again.Bytes(), err)
		}
		r.inCall()
	})
}
