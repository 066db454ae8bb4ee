package probe

import (
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

const (
	// maxWait is how long one wait for an event takes.
	maxWait = time.Second
	// gather is between two reports: in a storm events are added up.
	gather = 100 * time.Millisecond
	// burst is how many events are added up at most before they are told.
	burst = 4096
	// After an error the set is made anew. The pause before that doubles from the
	// first to the last.
	minPause, maxPause = time.Second, time.Minute
	// noInstance is NVML's word for an event that is about no MIG instance.
	noInstance = 0xffffffff
)

// event is an XID as the driver has it, on the GPU at an index.
type event struct {
	index  int
	code   uint64
	gi, ci uint32
}

// heard is an event and how often it came since it was last told.
type heard struct {
	event
	count int
}

// events hears the XIDs that the driver announces.
type events struct {
	heard chan heard
	track track // the call that it is in

	lib     library
	gpus    int
	timeout time.Duration // of one wait
	set     driver.EventSet
	index   map[driver.Device]int // of the GPUs in the set
}

// listen begins to hear the GPUs' XIDs. A wait takes no longer than a period.
func listen(lib library, gpus int, period time.Duration) *events {
	e := &events{heard: make(chan heard), lib: lib, gpus: gpus, timeout: min(period, maxWait)}
	go e.run()
	return e
}

// run makes a set and listens, and does so again after an error: once a GPU of the
// set is lost every wait says so, until a set is made without it.
func (e *events) run() {
	pause := minPause
	for {
		lasted := false
		if e.call(newCall("nvmlEventSetCreate"), func() (ret driver.Return) { e.set, ret = e.lib.EventSetCreate(); return ret }) == driver.SUCCESS {
			e.register()
			lasted = e.listen()
			_ = e.call(newCall("nvmlEventSetFree"), func() driver.Return { return e.set.Free() })
		}
		if lasted {
			pause = minPause
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
}

func (e *events) call(c call, f func() driver.Return) driver.Return {
	if !e.lib.has.has(c.name) {
		return driver.ERROR_FUNCTION_NOT_FOUND
	}
	e.track.enter(c)
	defer e.track.leave()
	return f()
}

// late gives the call that it is in where that is past its deadline. The time
// that a wait may take is not counted.
func (e *events) late(now time.Time, deadline time.Duration) call {
	if c := e.track.current(); c.age(now) >= deadline {
		return c
	}
	return call{}
}

// register adds the GPUs that can be asked and tell XIDs.
func (e *events) register() {
	e.index = map[driver.Device]int{}
	for i := range e.gpus {
		on := func(name string) call { return call{name: name, gpu: i, since: time.Now()} }
		var dev driver.Device
		var types uint64
		if e.call(on("nvmlDeviceGetHandleByIndex"), func() (ret driver.Return) {
			dev, ret = e.lib.DeviceGetHandleByIndex(i)
			return ret
		}) != driver.SUCCESS || e.call(on("nvmlDeviceGetSupportedEventTypes"), func() (ret driver.Return) {
			types, ret = dev.GetSupportedEventTypes()
			return ret
		}) != driver.SUCCESS {
			continue
		}
		if types &= driver.EventTypeXidCriticalError; types == 0 {
			continue
		}
		if e.call(on("nvmlDeviceRegisterEvents"), func() driver.Return { return dev.RegisterEvents(types, e.set) }) == driver.SUCCESS {
			e.index[dev] = i
		}
	}
}

// listen tells events until waiting for them fails. It says whether it could wait
// at all.
func (e *events) listen() (lasted bool) {
	for {
		counts, ret := e.wait()
		for x, count := range counts {
			e.heard <- heard{x, count}
		}
		if ret != driver.SUCCESS && ret != driver.ERROR_TIMEOUT {
			return lasted || len(counts) > 0
		}
		lasted = true
		if len(counts) > 0 {
			time.Sleep(gather)
		}
	}
}

// wait adds up the events that are there. If there are none it waits for one.
func (e *events) wait() (counts map[event]int, ret driver.Return) {
	counts = map[event]int{}
	timeout := e.timeout
	for range burst {
		var data driver.EventData
		back := call{name: "nvmlEventSetWait", gpu: noGPU, since: time.Now().Add(timeout)}
		ret := e.call(back, func() (ret driver.Return) {
			data, ret = e.set.Wait(uint32(timeout.Milliseconds()))
			return ret
		})
		timeout = 0
		if ret != driver.SUCCESS {
			return counts, ret
		}
		if i, ours := e.index[data.Device]; ours {
			counts[event{i, data.EventData, data.GpuInstanceId, data.ComputeInstanceId}]++
		}
	}
	return counts, driver.SUCCESS
}

// report gives it in the words of the report, on the GPU of a UUID.
func (h heard) report(uuid string) nvml.Report {
	x := nvml.XID{Code: int(h.code), UUID: uuid, Count: h.count}
	if h.gi != noInstance {
		gi := int(h.gi)
		x.GI = &gi
	}
	if h.ci != noInstance {
		ci := int(h.ci)
		x.CI = &ci
	}
	return nvml.XIDReport(x)
}
