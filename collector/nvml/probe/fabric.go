package probe

import (
	"bytes"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// fabricAnswer is one version of NVML's struct.
type fabricAnswer struct {
	version int
	name    string
	ask     func(q *query) (f nvlink.Fabric, valid bool, ret driver.Return)
}

// fabricAnswers are from the newest on: an older library or driver does not have
// the first.
var fabricAnswers = []fabricAnswer{
	{3, "nvmlDeviceGetGpuFabricInfoV", func(q *query) (nvlink.Fabric, bool, driver.Return) {
		i, ret := q.dev.GetGpuFabricInfoV().V3()
		f, ok := nvlink.MakeFabric(3, i.State, i.Status, i.ClusterUuid, i.CliqueId)
		summary := int(i.HealthSummary)
		f.Mask, f.Summary = &i.HealthMask, &summary
		return f, ok, ret
	}},
	{2, "nvmlDeviceGetGpuFabricInfoV", func(q *query) (nvlink.Fabric, bool, driver.Return) {
		i, ret := q.dev.GetGpuFabricInfoV().V2()
		f, ok := nvlink.MakeFabric(2, i.State, i.Status, i.ClusterUuid, i.CliqueId)
		f.Mask = &i.HealthMask
		return f, ok, ret
	}},
	{1, "nvmlDeviceGetGpuFabricInfo", func(q *query) (nvlink.Fabric, bool, driver.Return) {
		i, ret := q.dev.GetGpuFabricInfo()
		f, ok := nvlink.MakeFabric(1, i.State, i.Status, i.ClusterUuid, i.CliqueId)
		return f, ok, ret
	}},
}

// fabric asks how the GPU is registered at the fabric.
func (q *query) fabric(r *nvlink.Reading) {
	for _, a := range fabricAnswers {
		var f nvlink.Fabric
		var valid bool
		ret := q.call(a.name, func() (ret driver.Return) {
			f, valid, ret = a.ask(q)
			return ret
		})
		switch {
		case notSupported(ret):
			continue
		case !q.told(nvml.ValueFabric, ret):
		case !valid:
			q.fail(nvml.ValueFabric, nvml.Impossible)
		default:
			r.Fabric = &f
		}
		return
	}
}

// platform asks where the GPU sits.
func (q *query) platform(r *nvlink.Reading) {
	const name = "nvmlDeviceGetPlatformInfo"
	var i driver.PlatformInfo
	ret := q.call(name, func() (ret driver.Return) {
		i, ret = q.dev.GetPlatformInfo()
		return ret
	})
	if !q.told(nvml.ValuePlatform, ret) {
		return
	}
	chassis, _, _ := bytes.Cut(i.ChassisSerialNumber[:], []byte{0})
	r.Platform = &nvlink.Platform{Chassis: printable(chassis), Slot: int(i.SlotNumber), Tray: int(i.TrayIndex), Host: int(i.HostId),
		Module: int(i.ModuleId), Switched: i.PeerType == 1}
}

// printable gives text as it is if it is plain; a serial number that is not is
// unknown.
func printable(text []byte) string {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return string(text)
}
