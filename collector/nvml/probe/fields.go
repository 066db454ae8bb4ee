package probe

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// field is one that nvmlDeviceGetFieldValues gives, and where it goes.
type field struct {
	id    uint32
	value nvml.Value
	put   func(r *reading, n int64) (possible bool)
}

// reading is what fields are put into.
type reading struct {
	*nvml.GPU
	pending, failed *bool // of Remap, which is known only with both
	remap           nvml.Remap
}

// fastFields and slowFields are tables and never changed.
var fastFields = []field{
	{driver.FI_DEV_GET_GPU_RECOVERY_ACTION, nvml.ValueRecovery, func(r *reading, n int64) bool { return within(&r.Recovery, n, 0, 255) }},
	{driver.FI_DEV_ECC_SBE_VOL_DEV, nvml.ValueECCVolatile, func(r *reading, n int64) bool { return count(&r.ECC.Volatile.DRAMCorrected, n) }},
	{driver.FI_DEV_ECC_DBE_VOL_DEV, nvml.ValueECCVolatile, func(r *reading, n int64) bool { return count(&r.ECC.Volatile.DRAMUncorrected, n) }},
	{driver.FI_DEV_ECC_SBE_AGG_DEV, nvml.ValueECCAggregate, func(r *reading, n int64) bool { return count(&r.ECC.Aggregate.DRAMCorrected, n) }},
	{driver.FI_DEV_ECC_DBE_AGG_DEV, nvml.ValueECCAggregate, func(r *reading, n int64) bool { return count(&r.ECC.Aggregate.DRAMUncorrected, n) }},
	{driver.FI_DEV_ECC_CURRENT, nvml.ValueECCMode, func(r *reading, n int64) bool { return flag(&r.ECC.Enabled, n) }},
	{driver.FI_DEV_REMAPPED_COR, nvml.ValueRemap, func(r *reading, n int64) bool { return within(&r.remap.Correctable, n, 0, maxRows) }},
	{driver.FI_DEV_REMAPPED_UNC, nvml.ValueRemap, func(r *reading, n int64) bool { return within(&r.remap.Uncorrectable, n, 0, maxRows) }},
	{driver.FI_DEV_REMAPPED_PENDING, nvml.ValueRemap, func(r *reading, n int64) bool { return flag(&r.pending, n) }},
	{driver.FI_DEV_REMAPPED_FAILURE, nvml.ValueRemap, func(r *reading, n int64) bool { return flag(&r.failed, n) }},
	{driver.FI_DEV_MEMORY_TEMP, nvml.ValueMemoryTemp, func(r *reading, n int64) bool { return within(&r.Temperature.Memory, n, minTemp, maxTemp) }},
	{driver.FI_DEV_PCIE_REPLAY_COUNTER, nvml.ValueReplays, func(r *reading, n int64) bool { return count(&r.PCIe.Replays, n) }},
	{driver.FI_DEV_POWER_INSTANT, nvml.ValuePower, func(r *reading, n int64) bool { return watts(&r.Power.Watts, n) }},
}

var slowFields = []field{
	{driver.FI_DEV_RETIRED_SBE, nvml.ValueRetired, func(r *reading, n int64) bool { return within(&r.retired().SingleBit, n, 0, maxRows) }},
	{driver.FI_DEV_RETIRED_DBE, nvml.ValueRetired, func(r *reading, n int64) bool { return within(&r.retired().DoubleBit, n, 0, maxRows) }},
	{driver.FI_DEV_RETIRED_PENDING, nvml.ValueRetired, func(r *reading, n int64) bool { return flag(&r.retired().Pending, n) }},
	{driver.FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, nvml.ValueClockTimes, func(r *reading, n int64) bool { return elapsed(&r.Clocks.PowerCap, n) }},
	{driver.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, nvml.ValueClockTimes, func(r *reading, n int64) bool { return elapsed(&r.Clocks.SWThermal, n) }},
	{driver.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, nvml.ValueClockTimes, func(r *reading, n int64) bool { return elapsed(&r.Clocks.HWThermal, n) }},
	{driver.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, nvml.ValueClockTimes, func(r *reading, n int64) bool { return elapsed(&r.Clocks.PowerBrake, n) }},
	{driver.FI_DEV_POWER_CURRENT_LIMIT, nvml.ValuePowerLimit, func(r *reading, n int64) bool { return watts(&r.Power.Limit, n) }},
}

func (r *reading) retired() *nvml.Retired {
	if r.Retired == nil {
		r.Retired = &nvml.Retired{}
	}
	return r.Retired
}

// fields asks for many fields in one call. One that the GPU does not have is not
// asked for again before the next slow poll.
func (q *query) fields(table []field) {
	var asked []field
	var values []driver.FieldValue
	for _, f := range table {
		if !q.gpu.without[f.key()] {
			asked = append(asked, f)
			values = append(values, driver.FieldValue{FieldId: f.id})
		}
	}
	if len(asked) == 0 {
		return
	}
	ret := q.call("nvmlDeviceGetFieldValues", func() driver.Return { return q.dev.GetFieldValues(values) })
	r := reading{GPU: &q.found}
	for i, f := range asked {
		if q.told(f.value, ret) {
			q.field(&r, f, values[i])
		}
	}
	if r.pending != nil && r.failed != nil {
		r.remap.Pending, r.remap.Failed = *r.pending, *r.failed
		q.found.Remap = &r.remap
	}
}

func (q *query) field(r *reading, f field, v driver.FieldValue) {
	q.lib.fields.add(f.name(), time.Duration(v.LatencyUsec)*time.Microsecond)
	ret := driver.Return(v.NvmlReturn)
	if ret == driver.ERROR_GPU_IS_LOST {
		q.lose("nvmlDeviceGetFieldValues")
		return
	}
	// To some drivers a field that they do not know is an invalid argument.
	if notSupported(ret) || ret == driver.ERROR_INVALID_ARGUMENT {
		q.gpu.without[f.key()] = true
		return
	}
	if !q.told(f.value, ret) {
		return
	}
	if n, ok := number(v); !ok || !f.put(r, n) {
		q.fail(f.value, nvml.Impossible)
	}
}

func (f field) name() string { return fmt.Sprint(f.id) }
func (f field) key() string  { return "field " + f.name() }

// number reads an integer of any type; not ok is another type, or more than fits.
func number(v driver.FieldValue) (n int64, ok bool) {
	switch driver.ValueType(v.ValueType) {
	case driver.VALUE_TYPE_UNSIGNED_INT:
		return int64(binary.NativeEndian.Uint32(v.Value[:])), true
	case driver.VALUE_TYPE_SIGNED_INT:
		return int64(int32(binary.NativeEndian.Uint32(v.Value[:]))), true
	case driver.VALUE_TYPE_UNSIGNED_LONG, driver.VALUE_TYPE_UNSIGNED_LONG_LONG:
		u := binary.NativeEndian.Uint64(v.Value[:])
		return int64(u), u <= math.MaxInt64
	case driver.VALUE_TYPE_SIGNED_LONG_LONG:
		return int64(binary.NativeEndian.Uint64(v.Value[:])), true
	case driver.VALUE_TYPE_UNSIGNED_SHORT:
		return int64(binary.NativeEndian.Uint16(v.Value[:])), true
	}
	return 0, false
}
