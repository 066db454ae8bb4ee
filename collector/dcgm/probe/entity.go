package probe

import (
	"strconv"
	"sync"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// uuids are what GPUs are called, by the engine's numbers. A GPU keeps its name
// when it is lost and its field goes blank.
type uuids struct {
	mu sync.Mutex
	of map[uint]string
}

func (u *uuids) learn(gpu uint, uuid string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.of[gpu] = uuid
}

func (u *uuids) entity(group driver.Field_Entity_Group, id uint) dcgm.Entity {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := dcgm.Entity{Group: groupName(group), ID: id}
	switch group {
	case driver.FE_GPU:
		e.UUID = u.of[id]
	case driver.FE_LINK:
		if parent, gpu := linkParent(id); parent == driver.FE_GPU {
			e.UUID = u.of[gpu]
		}
	}
	return e
}

// linkParent reads whose a link is from its number (dcgm_link_t): the kind in
// the lowest byte, the port in two, and the GPU or switch in the highest.
func linkParent(id uint) (group driver.Field_Entity_Group, parent uint) {
	return driver.Field_Entity_Group(id & 0xff), id >> 24 & 0xff
}

func groupName(group driver.Field_Entity_Group) string {
	switch group {
	case driver.FE_NONE:
		return "node"
	case driver.FE_GPU:
		return "gpu"
	case driver.FE_VGPU:
		return "vgpu"
	case driver.FE_SWITCH:
		return "switch"
	case driver.FE_GPU_I:
		return "gpu-instance"
	case driver.FE_GPU_CI:
		return "compute-instance"
	case driver.FE_LINK:
		return "link"
	case driver.FE_CPU:
		return "cpu"
	case driver.FE_CPU_CORE:
		return "cpu-core"
	case driver.FE_CONNECTX:
		return "connectx"
	}
	return strconv.Itoa(int(group))
}
