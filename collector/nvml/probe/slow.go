package probe

import (
	"slices"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// slowValues are those that only a slow poll asks for.
var slowValues = []nvml.Value{
	nvml.ValueBanks, nvml.ValueRetired, nvml.ValueClockTimes, nvml.ValueTempLimits, nvml.ValuePowerLimit,
	nvml.ValuePCIeMax, nvml.ValuePersistence,
	nvml.ValueLinks, nvml.ValueFabric, nvml.ValuePlatform,
}

// askSlow asks for what rarely changes, or costs more than it tells in a second.
func (q *query) askSlow() {
	q.fields(slowFields)
	q.instances()
	q.banks()
	q.limits()
	l := &q.found.PCIe
	q.number(nvml.ValuePCIeMax, "nvmlDeviceGetMaxPcieLinkGeneration", q.dev.GetMaxPcieLinkGeneration, &l.MaxGen, 1, maxGen)
	q.number(nvml.ValuePCIeMax, "nvmlDeviceGetMaxPcieLinkWidth", q.dev.GetMaxPcieLinkWidth, &l.MaxWidth, 1, maxWidth)
	q.persistence()
	q.links()
}

// keepSlow takes the slow values over from the last poll, but for the NVLinks:
// they are many, and a reading is of its time.
func (q *query) keepSlow() {
	g, last := &q.found, &q.gpu.last
	g.Retired, g.Persistence = last.Retired, last.Persistence
	if g.MIG != nil && *g.MIG {
		g.Instances = last.Instances
	}
	if g.Remap != nil && last.Remap != nil {
		g.Remap.Banks = last.Remap.Banks
	}
	g.Clocks.SWThermal, g.Clocks.HWThermal = last.Clocks.SWThermal, last.Clocks.HWThermal
	g.Clocks.PowerBrake, g.Clocks.PowerCap = last.Clocks.PowerBrake, last.Clocks.PowerCap
	g.Temperature.Slowdown, g.Temperature.Shutdown = last.Temperature.Slowdown, last.Temperature.Shutdown
	g.Power.Limit = last.Power.Limit
	g.PCIe.MaxGen, g.PCIe.MaxWidth = last.PCIe.MaxGen, last.PCIe.MaxWidth
	for v, code := range last.Failed {
		if slices.Contains(slowValues, v) {
			q.fail(v, code)
		}
	}
}

// banks asks for the row remapper's histogram.
func (q *query) banks() {
	var h driver.RowRemapperHistogramValues
	if q.found.Remap == nil || !q.want(nvml.ValueBanks, "nvmlDeviceGetRowRemapperHistogram", func() (ret driver.Return) {
		h, ret = q.dev.GetRowRemapperHistogram()
		return ret
	}) {
		return
	}
	if max(h.Max, h.High, h.Partial, h.Low, h.None) > maxRows {
		q.fail(nvml.ValueBanks, nvml.Impossible)
		return
	}
	q.found.Remap.Banks = &nvml.Banks{
		Max: int(h.Max), High: int(h.High), Partial: int(h.Partial), Low: int(h.Low), None: int(h.None),
	}
}

func (q *query) limits() {
	limit := func(which driver.TemperatureThresholds, to **int) {
		q.number(nvml.ValueTempLimits, "nvmlDeviceGetTemperatureThreshold", func() (int, driver.Return) {
			t, ret := q.dev.GetTemperatureThreshold(which)
			return int(int32(t)), ret
		}, to, minLimit, maxTemp)
	}
	limit(driver.TEMPERATURE_THRESHOLD_SLOWDOWN, &q.found.Temperature.Slowdown)
	limit(driver.TEMPERATURE_THRESHOLD_SHUTDOWN, &q.found.Temperature.Shutdown)
}

func (q *query) persistence() {
	var mode driver.EnableState
	if q.want(nvml.ValuePersistence, "nvmlDeviceGetPersistenceMode", func() (ret driver.Return) {
		mode, ret = q.dev.GetPersistenceMode()
		return ret
	}) {
		q.possible(nvml.ValuePersistence, flag(&q.found.Persistence, int64(mode)))
	}
}
