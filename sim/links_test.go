package sim_test

import (
	"encoding/binary"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// fieldOf asks for one field of one link.
func fieldOf(t *testing.T, dev nvml.Device, id uint32, link int) (uint64, nvml.Return) {
	t.Helper()
	values := []nvml.FieldValue{{FieldId: id, ScopeId: uint32(link)}}
	check(t, "fields", dev.GetFieldValues(values), nvml.SUCCESS)
	return binary.NativeEndian.Uint64(values[0].Value[:]), nvml.Return(values[0].NvmlReturn)
}

func TestLinks(t *testing.T) {
	n, lib := open(t, "gb200-tray")
	must(t, n.LinkUp("0", 5, false))
	must(t, n.LinkRecoveries("0", 7, 505, true))
	must(t, n.LinkBER("0", 7, 2e-12))
	must(t, n.SetLink("0", 7, "fec-depth", "9"))
	dev := device(t, lib, 0)
	for _, want := range []struct {
		id    uint32
		link  int
		value uint64
		ret   nvml.Return
	}{
		{nvml.FI_DEV_NVLINK_LINK_COUNT, 0, 18, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_GET_STATE, 4, 1, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_GET_STATE, 5, 0, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_GET_STATE, 18, 0, nvml.ERROR_INVALID_ARGUMENT},
		{nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 7, 505, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 8, 0, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, 7, 0x20c, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 + 9, 7, 1, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 + 10, 7, 0, nvml.SUCCESS},
		{nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY, 7, 0, nvml.ERROR_NOT_SUPPORTED},
	} {
		if value, ret := fieldOf(t, dev, want.id, want.link); value != want.value || ret != want.ret {
			t.Errorf("field %d of link %d: %d, %v; want %d, %v", want.id, want.link, value, ret, want.value, want.ret)
		}
	}
	must(t, n.Reset("0"))
	if count, _ := fieldOf(t, dev, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 7); count != 0 {
		t.Errorf("%d recoveries after a reset", count)
	}
}

// TestOlderLinks: NVLink 4 has other counters, and switches on the host's PCI bus.
func TestOlderLinks(t *testing.T) {
	n, lib := open(t, "hgx-h100")
	must(t, n.LinkRecoveries("1", 17, 3, true))
	dev := device(t, lib, 1)
	if v, ret := dev.GetNvLinkVersion(0); v != 6 || ret != nvml.SUCCESS {
		t.Errorf("version %d, %v", v, ret)
	}
	if v, ret := dev.GetNvLinkErrorCounter(17, nvml.NVLINK_ERROR_DL_RECOVERY); v != 3 || ret != nvml.SUCCESS {
		t.Errorf("%d recoveries, %v", v, ret)
	}
	if pci, ret := dev.GetNvLinkRemotePciInfo(17); pci.Bus != 8 || ret != nvml.SUCCESS {
		t.Errorf("link 17 leads to bus %#x, %v", pci.Bus, ret)
	}
	if kind, ret := dev.GetNvLinkRemoteDeviceType(17); kind != nvml.NVLINK_DEVICE_TYPE_SWITCH || ret != nvml.SUCCESS {
		t.Errorf("link 17 leads to type %d, %v", kind, ret)
	}
	if state, ret := dev.GetNvLinkState(3); state != nvml.FEATURE_ENABLED || ret != nvml.SUCCESS {
		t.Errorf("link 3: %d, %v", state, ret)
	}
}

func TestFabric(t *testing.T) {
	n, lib := open(t, "gb200-tray")
	must(t, n.FabricHealth("2", 0x1a9, 2))
	dev := device(t, lib, 2)
	third, ret := dev.GetGpuFabricInfoV().V3()
	if third.State != 3 || third.HealthMask != 0x1a9 || third.HealthSummary != 2 || third.CliqueId != 1 || third.ClusterUuid[0] != 0x7b || ret != nvml.SUCCESS {
		t.Errorf("version 3: %+v, %v", third, ret)
	}
	must(t, n.Set("2", "fabric.version", "2"))
	if _, ret := dev.GetGpuFabricInfoV().V3(); ret != nvml.ERROR_ARGUMENT_VERSION_MISMATCH {
		t.Errorf("version 3 of a library that has 2: %v", ret)
	}
	if second, ret := dev.GetGpuFabricInfoV().V2(); second.HealthMask != 0x1a9 || ret != nvml.SUCCESS {
		t.Errorf("version 2: %+v, %v", second, ret)
	}
	must(t, n.Fabric("2", "in-progress", 999))
	if first, ret := dev.GetGpuFabricInfo(); first.State != 2 || first.Status != 999 || ret != nvml.SUCCESS {
		t.Errorf("version 1: %+v, %v", first, ret)
	}
	where, ret := dev.GetPlatformInfo()
	if string(where.ChassisSerialNumber[:13]) != "1821325191570" || where.TrayIndex != 6 || where.SlotNumber != 11 || where.ModuleId != 3 || ret != nvml.SUCCESS {
		t.Errorf("platform: %+v, %v", where, ret)
	}
}
