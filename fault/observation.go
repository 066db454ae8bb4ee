package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// Observation is one thing seen, once.
type Observation struct {
	// Sequence is the kernel's record number; it means nothing for other sources.
	Sequence uint64
	// Backlog marks a record that is older than the agent's start. It acts only
	// when the present confirms it.
	Backlog bool
	// Late marks a record that was lost at first: what the kernel said after it
	// may have been judged already.
	Late bool
	Fact Fact
}

// Fact is what an Observation says. The implementations are in this file.
type Fact interface{ isFact() }

// Heard is a line of the driver in the kernel log.
type Heard struct {
	Event xidparse.Event
	// ByDriver: no line, but the driver's announcement of one.
	ByDriver bool
}

// Service is what a service of the driver said, or systemd of it.
type Service struct{ Event services.Event }

// Boot names the running boot. It is the first observation after a start.
type Boot struct{ ID string }

// Gap is a stretch of the kernel log that nobody read.
type Gap struct{ Lost uint64 }

// Inventory is one whole poll of the driver: all GPUs that it names.
type Inventory struct {
	// Driver is its version; empty is unknown.
	Driver string
	GPUs   []GPUState
	// Unnamed are the GPUs that the driver counts beside those.
	Unnamed []Unnamed
	// Missing are those that were listed once, in an earlier life of the agent too,
	// and are not now.
	Missing []Device
	// Renewed says that the child was started anew since a GPU has answered.
	Renewed bool
	// Stuck is a call that does not return while the polls do, such as one that
	// waits for events; nil is none.
	Stuck *Hung
	// Bus is what the PCI bus lists; nil is unknown.
	Bus []BusDevice
}

// GPUState is what the driver says of one GPU. What it did not say is unknown.
type GPUState struct {
	Device
	Lost bool
	// Failed is the driver's error when the GPU could not be asked; empty else.
	// Stuck says that a call does not return, which Hung tells of as well.
	Failed string
	Stuck  bool
	// Recovery is NVML's recovery action (field 230), nil when not known.
	Recovery *int
	// Memory is what the poll says of the GPU's memory.
	Memory ecc.Reading
	// NVLink is the state of the NVLinks; nil in a poll that did not ask.
	NVLink *nvlink.Reading
	// Processes is how many programs use the GPU, nil when not known.
	Processes *int
	// Answers has the values that the GPU was asked for: true where it told, false
	// where NVML's answer was "Unknown Error". What it does not support, or failed
	// otherwise, is not in it.
	Answers map[string]bool
	// Slowed is why the clocks are held down.
	Slowed Slowdown
	Heat   Heat
	// Width and Generation are of the PCIe link as it is, MaxWidth and
	// MaxGeneration as it could be; 0 is unknown.
	Width, MaxWidth, Generation, MaxGeneration int
	// Replays counts the packets that the link sent again; nil is unknown.
	Replays *uint64
	// Activity is what the GPU does; its zero value is unknown.
	Activity serving.Activity
	// Instances are its MIG devices.
	Instances []InstanceState
}

// InstanceState is what one poll says of a MIG device.
type InstanceState struct {
	UUID string
	// Activity is what its GPU instance does; its zero value is unknown.
	Activity serving.Activity
}

// Slowdown is why a GPU's clocks are held down, as far as that is a fault.
type Slowdown struct {
	// Thermal: too hot, by the driver or the board. PowerBrake: the board was
	// told to save power by its surroundings.
	Thermal, PowerBrake bool
}

// BusDevice is one GPU as the PCI bus lists it, whatever the driver says.
type BusDevice struct {
	PCI xidparse.PCI
	// Driver is the kernel driver that the GPU is bound to, empty for none.
	Driver string
	// Dead: the configuration space reads all ones.
	Dead bool
}

// Hung is a driver call past its deadline. Device is zero when the call was
// not about one GPU.
type Hung struct {
	Device Device
	Call   string
	For    time.Duration
}

// Blind is a driver that cannot be asked at all. Mismatch says that the reason
// is a library of another version than the kernel module.
type Blind struct {
	Why      string
	Mismatch bool
}

// Released is a person's word that the node may serve again, in spite of the
// episode with this ID.
type Released struct{ ID string }

// Diagnosed says that a GPU has failed a diagnosis which was for no episode.
type Diagnosed struct{ GPU Device }

// Repaired says that GPUs were reset, by whoever did it. That the host was
// rebooted is a Boot.
type Repaired struct{ GPUs []Device }

func (Heard) isFact()     {}
func (Boot) isFact()      {}
func (Service) isFact()   {}
func (Gap) isFact()       {}
func (Inventory) isFact() {}
func (Hung) isFact()      {}
func (Blind) isFact()     {}
func (Released) isFact()  {}
func (Repaired) isFact()  {}
func (Diagnosed) isFact() {}
