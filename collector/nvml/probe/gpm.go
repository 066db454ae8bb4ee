package probe

import (
	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// gpm holds two samples of a GPU's counters of activity, to compare.
type gpm struct {
	older, newer driver.GpmSample // nil: none allocated
	sampled      bool             // older is of the last poll
}

// activity reads what the GPU did since the last poll. GPUs before Hopper do not
// tell, nor does a GPU in MIG mode as a whole.
func (q *query) activity() {
	g := &q.gpu.gpm
	if g.older == nil && !q.allocate() {
		return
	}
	if !q.want(nvml.ValueGPM, "nvmlGpmSampleGet", func() driver.Return { return q.dev.GpmSampleGet(g.newer) }) {
		g.sampled = false
		return
	}
	if g.sampled && !q.idle() {
		q.compare()
	}
	g.older, g.newer, g.sampled = g.newer, g.older, true
}

// idle says that nothing runs: comparing, which costs more than all else of a
// poll, would tell nothing new.
func (q *query) idle() bool {
	u := q.found.Use
	return u.GPU != nil && *u.GPU == 0 && u.Processes != nil && *u.Processes == 0
}

func (q *query) allocate() bool {
	if !q.want(nvml.ValueGPM, "nvmlGpmQueryDeviceSupport", func() driver.Return {
		support, ret := q.dev.GpmQueryDeviceSupport()
		if ret == driver.SUCCESS && support.IsSupportedDevice == 0 {
			return driver.ERROR_NOT_SUPPORTED
		}
		return ret
	}) {
		return false
	}
	g := &q.gpu.gpm
	for _, sample := range []*driver.GpmSample{&g.older, &g.newer} {
		var fresh driver.GpmSample
		if !q.want(nvml.ValueGPM, "nvmlGpmSampleAlloc", func() (ret driver.Return) { fresh, ret = q.lib.GpmSampleAlloc(); return ret }) {
			g.free()
			return false
		}
		*sample = fresh
	}
	return true
}

func (g *gpm) free() {
	for _, sample := range []driver.GpmSample{g.older, g.newer} {
		if sample != nil {
			_ = sample.Free() // memory of this process
		}
	}
	*g = gpm{}
}

// compare reads the metrics between the samples.
func (q *query) compare() {
	u := &q.found.Use
	metrics := []struct {
		id driver.GpmMetricId
		to **float64
	}{
		{driver.GPM_METRIC_SM_UTIL, &u.SM},
		{driver.GPM_METRIC_ANY_TENSOR_UTIL, &u.Tensor},
		{driver.GPM_METRIC_DRAM_BW_UTIL, &u.DRAM},
	}
	get := driver.GpmMetricsGetType{
		NumMetrics: uint32(len(metrics)), Sample1: q.gpu.gpm.older, Sample2: q.gpu.gpm.newer,
	}
	for i, m := range metrics {
		get.Metrics[i].MetricId = uint32(m.id)
	}
	if !q.want(nvml.ValueGPM, "nvmlGpmMetricsGet", func() driver.Return { return q.lib.GpmMetricsGet(&get) }) {
		return
	}
	for i, m := range metrics {
		if q.told(nvml.ValueGPM, driver.Return(get.Metrics[i].NvmlReturn)) {
			q.possible(nvml.ValueGPM, percent(m.to, get.Metrics[i].Value))
		}
	}
}
