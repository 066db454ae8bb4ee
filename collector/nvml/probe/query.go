package probe

import (
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// library is the open library and what its users share.
type library struct {
	driver.Interface
	has    *symbols
	calls  *costs
	fields *costs
}

// query asks one GPU for one poll.
type query struct {
	lib   library
	gpu   *gpu // what is kept between polls
	slow  bool // ask for the slow values too
	dev   driver.Device
	found nvml.GPU
}

// ask makes the calls of one poll. The handle is got anew each time: that is the
// call which tells best that a GPU is lost.
func (q *query) ask() nvml.GPU {
	if !q.find() || !q.identify() {
		return q.found
	}
	q.askFast()
	if q.slow {
		q.askSlow()
	} else {
		q.keepSlow()
	}
	q.instanceActivity()
	if q.found.Lost { // what came before that is of a GPU that was dying
		return nvml.GPU{Index: q.found.Index, Identity: q.found.Identity, Lost: true, Error: q.found.Error}
	}
	return q.found
}

// call makes one driver call if the library has it. A GPU that is lost is not
// asked further.
func (q *query) call(name string, f func() driver.Return) driver.Return {
	switch {
	case q.found.Lost:
		return driver.ERROR_GPU_IS_LOST
	case !q.lib.has.has(name):
		return driver.ERROR_FUNCTION_NOT_FOUND
	}
	q.gpu.track.enter(newCall(name))
	began := time.Now()
	ret := f()
	q.lib.calls.add(name, time.Since(began))
	q.gpu.track.leave()
	if ret == driver.ERROR_GPU_IS_LOST {
		q.lose(name)
	}
	return ret
}

// lose notes the call that said that the GPU is lost.
func (q *query) lose(name string) {
	const ret = driver.ERROR_GPU_IS_LOST
	q.found.Lost = true
	q.found.Error = &nvml.Error{Op: name, Code: int(ret), Text: ret.Error()}
}

// need makes a call without which there is no GPU to ask.
func (q *query) need(name string, f func() driver.Return) bool {
	ret := q.call(name, f)
	if ret != driver.SUCCESS && q.found.Error == nil {
		q.found.Error = &nvml.Error{Op: name, Code: int(ret), Text: ret.Error()}
	}
	return ret == driver.SUCCESS
}

// want makes the call that tells a value and says whether it did. What a GPU does
// not support is not asked again before the next slow poll.
func (q *query) want(v nvml.Value, name string, f func() driver.Return) bool {
	return q.wantOne(v, name, name, f)
}

// wantOne is want of a call that can be asked for several things: key is one.
func (q *query) wantOne(v nvml.Value, key, name string, f func() driver.Return) bool {
	if q.gpu.without[key] {
		return false
	}
	ret := q.call(name, f)
	if notSupported(ret) {
		q.gpu.without[key] = true
		return false
	}
	return q.told(v, ret)
}

// told notes a value that was not told.
func (q *query) told(v nvml.Value, ret driver.Return) bool {
	if ret == driver.SUCCESS {
		return true
	}
	if !notSupported(ret) && ret != driver.ERROR_GPU_IS_LOST {
		q.fail(v, int(ret))
	}
	return false
}

// fail keeps a value's first failure.
func (q *query) fail(v nvml.Value, code int) {
	if q.found.Failed == nil {
		q.found.Failed = map[nvml.Value]int{}
	}
	if _, failed := q.found.Failed[v]; !failed {
		q.found.Failed[v] = code
	}
}

// notSupported says whether the library, the driver or the GPU does not have
// what was asked for.
func notSupported(ret driver.Return) bool {
	switch ret {
	case driver.ERROR_NOT_SUPPORTED, driver.ERROR_FUNCTION_NOT_FOUND,
		driver.ERROR_ARGUMENT_VERSION_MISMATCH, driver.ERROR_DEPRECATED:
		return true
	}
	return false
}

func (q *query) find() bool {
	return q.need("nvmlDeviceGetHandleByIndex", func() (ret driver.Return) {
		q.dev, ret = q.lib.DeviceGetHandleByIndex(q.found.Index)
		return ret
	})
}

// identify fills in the identity if the two things that make it are told. It
// does not change while the library is open.
func (q *query) identify() bool {
	if q.found.UUID != "" {
		return true
	}
	var id nvml.Identity
	named := q.need("nvmlDeviceGetUUID", func() (ret driver.Return) {
		id.UUID, ret = q.dev.GetUUID()
		return ret
	}) && q.need("nvmlDeviceGetPciInfo", func() driver.Return {
		info, ret := q.dev.GetPciInfo()
		id.PCI = xidparse.PCI{Domain: info.Domain, Bus: uint8(info.Bus), Device: uint8(info.Device)}
		return ret
	})
	if !named {
		return false
	}
	// What a board does not tell of these stays empty.
	_ = q.call("nvmlDeviceGetSerial", func() (ret driver.Return) {
		id.Serial, ret = q.dev.GetSerial()
		return ret
	})
	_ = q.call("nvmlDeviceGetName", func() (ret driver.Return) {
		id.Name, ret = q.dev.GetName()
		return ret
	})
	_ = q.call("nvmlDeviceGetBoardPartNumber", func() (ret driver.Return) {
		id.Part, ret = q.dev.GetBoardPartNumber()
		return ret
	})
	minor := 0
	if q.call("nvmlDeviceGetMinorNumber", func() (ret driver.Return) {
		minor, ret = q.dev.GetMinorNumber()
		return ret
	}) == driver.SUCCESS {
		id.Minor = &minor
	}
	if !q.found.Lost {
		q.found.Identity = id
	}
	return !q.found.Lost
}
