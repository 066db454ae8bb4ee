package probe

import (
	"fmt"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// dram asks a driver that does not have the fields.
func (q *query) dram() {
	const dram = driver.MEMORY_LOCATION_DRAM
	e := &q.found.ECC
	if !q.answered(nvml.ValueECCVolatile, e.Volatile) {
		q.counters(nvml.ValueECCVolatile, driver.VOLATILE_ECC, dram, &e.Volatile.DRAMCorrected, &e.Volatile.DRAMUncorrected)
	}
	if !q.answered(nvml.ValueECCAggregate, e.Aggregate) {
		q.counters(nvml.ValueECCAggregate, driver.AGGREGATE_ECC, dram, &e.Aggregate.DRAMCorrected, &e.Aggregate.DRAMUncorrected)
	}
}

// answered says whether DRAM was counted, or could not be.
func (q *query) answered(v nvml.Value, c nvml.Counts) bool {
	_, failed := q.found.Failed[v]
	return failed || c.DRAMCorrected != nil || c.DRAMUncorrected != nil
}

// sram asks for the SRAM's counters in one call, or where the library does not
// have that one by one.
func (q *query) sram() {
	const name = "nvmlDeviceGetSramEccErrorStatus"
	volatile, aggregate := &q.found.ECC.Volatile, &q.found.ECC.Aggregate
	if !q.lib.has.has(name) {
		const sram = driver.MEMORY_LOCATION_SRAM
		q.counters(nvml.ValueECCSRAM, driver.VOLATILE_ECC, sram, &volatile.SRAMCorrected, &volatile.SRAMUncorrected)
		q.counters(nvml.ValueECCSRAM, driver.AGGREGATE_ECC, sram, &aggregate.SRAMCorrected, &aggregate.SRAMUncorrected)
		return
	}
	var s driver.EccSramErrorStatus
	if !q.want(nvml.ValueECCSRAM, name, func() (ret driver.Return) { s, ret = q.dev.GetSramEccErrorStatus(); return ret }) {
		return
	}
	for _, part := range []struct {
		to     **uint64
		counts uint64
	}{
		{&volatile.SRAMCorrected, s.VolatileCor},
		{&volatile.SRAMUncorrected, s.VolatileUncParity + s.VolatileUncSecDed},
		{&aggregate.SRAMCorrected, s.AggregateCor},
		{&aggregate.SRAMUncorrected, s.AggregateUncParity + s.AggregateUncSecDed},
	} {
		q.possible(nvml.ValueECCSRAM, count(part.to, int64(part.counts)))
	}
	q.possible(nvml.ValueECCSRAM, flag(&q.found.ECC.Threshold, int64(s.BThresholdExceeded)))
}

// counters asks for a memory's corrected and uncorrected errors.
func (q *query) counters(v nvml.Value, since driver.EccCounterType, where driver.MemoryLocation, corrected, uncorrected **uint64) {
	for _, c := range []struct {
		kind driver.MemoryErrorType
		to   **uint64
	}{
		{driver.MEMORY_ERROR_TYPE_CORRECTED, corrected},
		{driver.MEMORY_ERROR_TYPE_UNCORRECTED, uncorrected},
	} {
		var n uint64
		key := fmt.Sprint("memory errors ", c.kind, since, where)
		if q.wantOne(v, key, "nvmlDeviceGetMemoryErrorCounter", func() (ret driver.Return) {
			n, ret = q.dev.GetMemoryErrorCounter(c.kind, since, where)
			return ret
		}) {
			q.possible(v, count(c.to, int64(n)))
		}
	}
}
