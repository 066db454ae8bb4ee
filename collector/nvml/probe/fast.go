package probe

import (
	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// askFast asks for what every poll asks for.
func (q *query) askFast() {
	q.migMode()
	q.fields(fastFields)
	q.dram()
	q.sram()
	q.clocks()
	q.temperature()
	q.power()
	q.link()
	q.use()
	q.activity()
}

// possible notes a value that was told and cannot be.
func (q *query) possible(v nvml.Value, ok bool) {
	if !ok {
		q.fail(v, nvml.Impossible)
	}
}

func (q *query) clocks() {
	// The call had another name before driver 535.
	name, ask := "nvmlDeviceGetCurrentClocksEventReasons", driver.Device.GetCurrentClocksEventReasons
	if !q.lib.has.has(name) {
		name, ask = "nvmlDeviceGetCurrentClocksThrottleReasons", driver.Device.GetCurrentClocksThrottleReasons
	}
	var reasons uint64
	if q.want(nvml.ValueClocks, name, func() (ret driver.Return) { reasons, ret = ask(q.dev); return ret }) {
		q.possible(nvml.ValueClocks, count(&q.found.Clocks.Reasons, int64(reasons)))
	}
}

func (q *query) temperature() {
	var t uint32
	if q.want(nvml.ValueTemperature, "nvmlDeviceGetTemperature", func() (ret driver.Return) {
		t, ret = q.dev.GetTemperature(driver.TEMPERATURE_GPU)
		return ret
	}) {
		q.possible(nvml.ValueTemperature, within(&q.found.Temperature.GPU, int64(int32(t)), minTemp, maxTemp))
	}
	var margin driver.MarginTemperature
	if q.want(nvml.ValueTempMargin, "nvmlDeviceGetMarginTemperature", func() (ret driver.Return) {
		margin, ret = q.dev.GetMarginTemperature()
		return ret
	}) {
		// Above the limit it is below zero.
		q.possible(nvml.ValueTempMargin, within(&q.found.Temperature.Margin, int64(margin.MarginTemperature), -maxTemp, maxTemp-minTemp))
	}
}

// power asks a driver that does not have the field.
func (q *query) power() {
	_, failed := q.found.Failed[nvml.ValuePower]
	if q.found.Power.Watts != nil || failed {
		return
	}
	var milliwatts uint32
	if q.want(nvml.ValuePower, "nvmlDeviceGetPowerUsage", func() (ret driver.Return) {
		milliwatts, ret = q.dev.GetPowerUsage()
		return ret
	}) {
		q.possible(nvml.ValuePower, watts(&q.found.Power.Watts, int64(milliwatts)))
	}
}

// number makes a call that tells an int in a range.
func (q *query) number(v nvml.Value, name string, ask func() (int, driver.Return), to **int, low, high int64) {
	n := 0
	if q.want(v, name, func() (ret driver.Return) { n, ret = ask(); return ret }) {
		q.possible(v, within(to, int64(n), low, high))
	}
}

func (q *query) link() {
	l := &q.found.PCIe
	q.number(nvml.ValuePCIe, "nvmlDeviceGetCurrPcieLinkGeneration", q.dev.GetCurrPcieLinkGeneration, &l.Gen, 1, maxGen)
	q.number(nvml.ValuePCIe, "nvmlDeviceGetCurrPcieLinkWidth", q.dev.GetCurrPcieLinkWidth, &l.Width, 1, maxWidth)
}

func (q *query) use() {
	u := &q.found.Use
	var rates driver.Utilization
	if q.want(nvml.ValueUse, "nvmlDeviceGetUtilizationRates", func() (ret driver.Return) {
		rates, ret = q.dev.GetUtilizationRates()
		return ret
	}) {
		q.possible(nvml.ValueUse, within(&u.GPU, int64(rates.Gpu), 0, 100))
		q.possible(nvml.ValueUse, within(&u.Memory, int64(rates.Memory), 0, 100))
	}
	var memory driver.Memory
	if q.want(nvml.ValueMemory, "nvmlDeviceGetMemoryInfo", func() (ret driver.Return) {
		memory, ret = q.dev.GetMemoryInfo()
		return ret
	}) {
		if ok := memory.Used <= memory.Total && memory.Total <= maxBytes; ok {
			u.MemoryUsed, u.MemoryTotal = &memory.Used, &memory.Total
		} else {
			q.fail(nvml.ValueMemory, nvml.Impossible)
		}
	}
	q.number(nvml.ValueProcesses, "nvmlDeviceGetComputeRunningProcesses", func() (int, driver.Return) {
		list, ret := q.dev.GetComputeRunningProcesses()
		return len(list), ret
	}, &u.Processes, 0, maxProcesses)
}
