package probe

import (
	"strings"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// migMode asks for MIG mode. A GPU that does not support it has it off; a
// library that does not know it does not say so.
func (q *query) migMode() {
	on := false
	ret := q.call("nvmlDeviceGetMigMode", func() driver.Return {
		current, _, ret := q.dev.GetMigMode()
		on = ret == driver.SUCCESS && current == driver.DEVICE_MIG_ENABLE
		return ret
	})
	if ret == driver.ERROR_NOT_SUPPORTED || q.told(nvml.ValueMIG, ret) {
		q.found.MIG = &on
	}
}

// instances lists the MIG devices, in the driver's order.
func (q *query) instances() {
	most := 0
	if q.found.MIG == nil || !*q.found.MIG || !q.want(nvml.ValueMIG, "nvmlDeviceGetMaxMigDeviceCount", func() (ret driver.Return) {
		most, ret = q.dev.GetMaxMigDeviceCount()
		return ret
	}) {
		return
	}
	for i := range most {
		if instance, ok := q.instance(i); ok {
			q.found.Instances = append(q.found.Instances, instance)
		}
	}
}

// instance asks for one MIG device; there may be none at an index.
func (q *query) instance(i int) (found nvml.Instance, ok bool) {
	var dev driver.Device
	ret := q.call("nvmlDeviceGetMigDeviceHandleByIndex", func() (ret driver.Return) {
		dev, ret = q.dev.GetMigDeviceHandleByIndex(i)
		return ret
	})
	if ret == driver.ERROR_NOT_FOUND || !q.told(nvml.ValueMIG, ret) {
		return found, false
	}
	name := ""
	for _, part := range []struct {
		call string
		ask  func() driver.Return
	}{
		{"nvmlDeviceGetUUID", func() (ret driver.Return) { found.UUID, ret = dev.GetUUID(); return ret }},
		{"nvmlDeviceGetGpuInstanceId", func() (ret driver.Return) { found.GI, ret = dev.GetGpuInstanceId(); return ret }},
		{"nvmlDeviceGetComputeInstanceId", func() (ret driver.Return) { found.CI, ret = dev.GetComputeInstanceId(); return ret }},
		{"nvmlDeviceGetName", func() (ret driver.Return) { name, ret = dev.GetName(); return ret }},
	} {
		if !q.told(nvml.ValueMIG, q.call(part.call, part.ask)) {
			return found, false
		}
	}
	_, found.Profile, _ = strings.Cut(name, " MIG ")
	return found, true
}
