package probe

import (
	"encoding/binary"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// gpu is what the loop knows of one index.
type gpu struct {
	track track    // the call that its goroutine is in
	busy  bool     // its goroutine has not answered yet
	stuck call     // the call that is past its deadline
	last  nvml.GPU // the last answer
}

// unknown is the GPU with nothing known but who it is: that does not change
// while the library is open, and outlives the GPU.
func (g *gpu) unknown() nvml.GPU {
	return nvml.GPU{Index: g.last.Index, Identity: g.last.Identity}
}

// query asks one GPU for one poll.
type query struct {
	lib   driver.Interface
	has   symbols
	track *track
	gpu   nvml.GPU
	dev   driver.Device
}

// ask makes the calls of one poll. The handle is got anew each time: that is the
// call which tells best that a GPU is lost.
func (q *query) ask() nvml.GPU {
	ret := q.do("nvmlDeviceGetHandleByIndex", func() (ret driver.Return) {
		q.dev, ret = q.lib.DeviceGetHandleByIndex(q.gpu.Index)
		return ret
	})
	if ret != driver.SUCCESS {
		return q.gpu
	}
	if q.gpu.UUID == "" {
		q.identify()
	}
	q.mig()
	q.recovery()
	q.remap()
	return q.gpu
}

// do makes one driver call and keeps the first failure. A GPU that is lost is
// not asked further.
func (q *query) do(name string, f func() driver.Return) driver.Return {
	if q.gpu.Lost {
		return driver.ERROR_GPU_IS_LOST
	}
	q.track.enter(name)
	ret := f()
	q.track.leave()
	q.gpu.Lost = ret == driver.ERROR_GPU_IS_LOST
	if ret != driver.SUCCESS && ret != driver.ERROR_NOT_SUPPORTED && q.gpu.Error == nil {
		q.gpu.Error = &nvml.Error{Op: name, Code: int(ret), Text: ret.Error()}
	}
	return ret
}

// identify fills in the identity if the two things that make it are told.
func (q *query) identify() {
	var id nvml.Identity
	uuid := q.do("nvmlDeviceGetUUID", func() (ret driver.Return) {
		id.UUID, ret = q.dev.GetUUID()
		return ret
	})
	pci := q.do("nvmlDeviceGetPciInfo", func() driver.Return {
		info, ret := q.dev.GetPciInfo()
		id.PCI = xidparse.PCI{Domain: info.Domain, Bus: uint8(info.Bus), Device: uint8(info.Device)}
		return ret
	})
	// What a board does not tell of these stays empty.
	_ = q.do("nvmlDeviceGetSerial", func() (ret driver.Return) {
		id.Serial, ret = q.dev.GetSerial()
		return ret
	})
	_ = q.do("nvmlDeviceGetName", func() (ret driver.Return) {
		id.Name, ret = q.dev.GetName()
		return ret
	})
	minor := 0
	if q.do("nvmlDeviceGetMinorNumber", func() (ret driver.Return) {
		minor, ret = q.dev.GetMinorNumber()
		return ret
	}) == driver.SUCCESS {
		id.Minor = &minor
	}
	if uuid == driver.SUCCESS && pci == driver.SUCCESS && !q.gpu.Lost {
		q.gpu.Identity = id
	}
}

// mig asks for MIG mode. A GPU that does not support it has it off.
func (q *query) mig() {
	if !q.has.mig {
		return
	}
	on := false
	ret := q.do("nvmlDeviceGetMigMode", func() driver.Return {
		current, _, ret := q.dev.GetMigMode()
		on = ret == driver.SUCCESS && current == driver.DEVICE_MIG_ENABLE
		return ret
	})
	if ret == driver.SUCCESS || ret == driver.ERROR_NOT_SUPPORTED {
		q.gpu.MIG = &on
	}
}

// recovery asks for field 230. Drivers before R565 do not know it.
func (q *query) recovery() {
	if !q.has.fields {
		return
	}
	field := []driver.FieldValue{{FieldId: driver.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	ret := q.do("nvmlDeviceGetFieldValues", func() driver.Return {
		if ret := q.dev.GetFieldValues(field); ret != driver.SUCCESS {
			return ret
		}
		// An unknown field is an invalid argument to some drivers.
		if ret := driver.Return(field[0].NvmlReturn); ret != driver.ERROR_INVALID_ARGUMENT {
			return ret
		}
		return driver.ERROR_NOT_SUPPORTED
	})
	if ret == driver.SUCCESS {
		q.gpu.Recovery = fieldInt(field[0])
	}
}

// remap asks for row remapping. It is not supported in MIG mode.
func (q *query) remap() {
	if !q.has.remap {
		return
	}
	var r nvml.Remap
	ret := q.do("nvmlDeviceGetRemappedRows", func() (ret driver.Return) {
		_, _, r.Pending, r.Failed, ret = q.dev.GetRemappedRows()
		return ret
	})
	if ret == driver.SUCCESS {
		q.gpu.Remap = &r
	}
}

// fieldInt reads a small number of any integer type; nil where it is another.
func fieldInt(v driver.FieldValue) *int {
	n := 0
	switch driver.ValueType(v.ValueType) {
	case driver.VALUE_TYPE_UNSIGNED_INT, driver.VALUE_TYPE_SIGNED_INT:
		n = int(int32(binary.NativeEndian.Uint32(v.Value[:])))
	case driver.VALUE_TYPE_UNSIGNED_LONG, driver.VALUE_TYPE_UNSIGNED_LONG_LONG, driver.VALUE_TYPE_SIGNED_LONG_LONG:
		n = int(binary.NativeEndian.Uint64(v.Value[:]))
	case driver.VALUE_TYPE_UNSIGNED_SHORT:
		n = int(binary.NativeEndian.Uint16(v.Value[:]))
	default:
		return nil
	}
	return &n
}
