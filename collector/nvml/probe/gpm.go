package probe

import (
	"fmt"
	"maps"
	"slices"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// sampler holds two samples of the counters of activity of a GPU, or of a GPU
// instance, to compare.
type sampler struct {
	older, newer driver.GpmSample // nil: none allocated
	sampled      bool             // older is of the last poll
}

// activity reads what the GPU did since the last poll. GPUs before Hopper do not
// tell, nor does a GPU in MIG mode as a whole.
func (q *query) activity() {
	s := &q.gpu.gpm
	if q.ready(s) && q.sample(s, "nvmlGpmSampleGet", "nvmlGpmSampleGet", q.dev.GpmSampleGet) && !q.idle() {
		q.compare(s, &q.found.Use.Activity)
	}
	s.swap()
}

// instanceActivity reads the same of each GPU instance, for the MIG devices in it.
// Those of an instance that is gone are forgotten.
func (q *query) instanceActivity() {
	read := map[int]nvml.Activity{}
	list := slices.Clone(q.found.Instances) // the last poll's, in part
	for i := range list {
		gi := list[i].GI
		if _, done := read[gi]; !done {
			read[gi] = q.ofInstance(gi)
		}
		list[i].Activity = read[gi]
	}
	q.found.Instances = list
	maps.DeleteFunc(q.gpu.instances, func(gi int, s *sampler) bool {
		_, there := read[gi]
		if !there {
			s.free()
		}
		return !there
	})
}

func (q *query) ofInstance(gi int) (a nvml.Activity) {
	s := q.gpu.instances[gi]
	if s == nil {
		s = &sampler{}
		q.gpu.instances[gi] = s
	}
	const call = "nvmlGpmMigSampleGet"
	if q.ready(s) && q.sample(s, fmt.Sprintf("%s %d", call, gi), call, func(to driver.GpmSample) driver.Return {
		return q.dev.GpmMigSampleGet(gi, to)
	}) {
		q.compare(s, &a)
	}
	s.swap()
	return a
}

// idle says that nothing runs: comparing, which costs more than all else of a
// poll, would tell nothing new.
func (q *query) idle() bool {
	u := q.found.Use
	return u.GPU != nil && *u.GPU == 0 && u.Processes != nil && *u.Processes == 0
}

// ready says whether there is something to sample into.
func (q *query) ready(s *sampler) bool {
	if s.older != nil {
		return true
	}
	if !q.want(nvml.ValueGPM, "nvmlGpmQueryDeviceSupport", func() driver.Return {
		support, ret := q.dev.GpmQueryDeviceSupport()
		if ret == driver.SUCCESS && support.IsSupportedDevice == 0 {
			return driver.ERROR_NOT_SUPPORTED
		}
		return ret
	}) {
		return false
	}
	for _, sample := range []*driver.GpmSample{&s.older, &s.newer} {
		var fresh driver.GpmSample
		if !q.want(nvml.ValueGPM, "nvmlGpmSampleAlloc", func() (ret driver.Return) { fresh, ret = q.lib.GpmSampleAlloc(); return ret }) {
			s.free()
			return false
		}
		*sample = fresh
	}
	return true
}

// sample takes the newer sample, and says whether there is an older one to compare
// it with.
func (q *query) sample(s *sampler, key, call string, get func(driver.GpmSample) driver.Return) bool {
	before := s.sampled
	s.sampled = q.wantOne(nvml.ValueGPM, key, call, func() driver.Return { return get(s.newer) })
	return before && s.sampled
}

// swap lets the newer sample be the older one of the next poll.
func (s *sampler) swap() {
	if s.sampled {
		s.older, s.newer = s.newer, s.older
	}
}

func (s *sampler) free() {
	for _, sample := range []driver.GpmSample{s.older, s.newer} {
		if sample != nil {
			_ = sample.Free() // memory of this process
		}
	}
	*s = sampler{}
}

// compare reads the metrics between the samples.
func (q *query) compare(s *sampler, to *nvml.Activity) {
	metrics := []struct {
		id driver.GpmMetricId
		to **float64
	}{
		{driver.GPM_METRIC_SM_UTIL, &to.SM},
		{driver.GPM_METRIC_ANY_TENSOR_UTIL, &to.Tensor},
		{driver.GPM_METRIC_DRAM_BW_UTIL, &to.DRAM},
	}
	get := driver.GpmMetricsGetType{NumMetrics: uint32(len(metrics)), Sample1: s.older, Sample2: s.newer}
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
