package nvml

import (
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Inventory is one poll of every GPU that the driver lists.
type Inventory struct {
	// Driver and NVML are versions, such as 570.195.03; empty is unknown.
	Driver string `json:"driver"`
	NVML   string `json:"nvml"`
	// GPUs has one entry for each index that the driver counted when the child
	// began, also for those that could not be asked.
	GPUs []GPU `json:"gpus"`
	// Stuck is a call on no GPU that has not returned within its deadline, while
	// the polls go on without it: one that has to do with the driver's events.
	Stuck *Hung `json:"stuck,omitempty"`
	// Calls is what asking cost since the last inventory, by NVML function.
	Calls []Cost `json:"calls,omitempty"`
	// Fields is the same by field of nvmlDeviceGetFieldValues ("230"), as NVML
	// itself measured it.
	Fields []Cost `json:"fields,omitempty"`
}

// Cost is how often something was asked, and the time that took in all.
type Cost struct {
	Name    string  `json:"name"`
	Count   int     `json:"n"`
	Seconds float64 `json:"s"`
}

// Identity is what a GPU is known by. All of it is unknown while UUID is empty:
// the GPU could not be asked since the child began.
type Identity struct {
	UUID string       `json:"uuid,omitempty"`
	PCI  xidparse.PCI `json:"pci,omitzero"`
	// Serial and Name are empty where the board does not tell.
	Serial string `json:"serial,omitempty"`
	Name   string `json:"name,omitempty"`
	// Part is the board's part number, such as 900-2G133-0000-001; empty where the
	// board does not tell.
	Part string `json:"part,omitempty"`
	// Minor is N of /dev/nvidiaN; nil is unknown.
	Minor *int `json:"minor,omitempty"`
}

// GPU is one GPU at one poll. A nil pointer is unknown: not asked, not supported
// by this driver or GPU, or not answered (then Error, Stuck or Failed says so).
// Values marked slow are of the last slow poll; the others are of this one.
type GPU struct {
	// Index is NVML's, from 0. It names nothing beyond this child's life.
	Index int `json:"index"`
	Identity
	// MIG is whether MIG mode is on.
	MIG *bool `json:"mig,omitempty"`
	// Instances is the MIG layout (slow), empty where MIG is off or unknown.
	Instances []Instance `json:"instances,omitempty"`
	// Recovery is NVML's field 230, what the driver wants done: 0 nothing, 1
	// GPU reset, 2 node reboot, 3 drain P2P, 4 drain and reset, 5 recover the
	// IMEX domain, 6 bus reset, 7 system reboot.
	Recovery *int `json:"recovery,omitempty"`
	// Remap is the state of row remapping.
	Remap *Remap `json:"remap,omitempty"`
	// Retired is page retirement, which GPUs before Ampere have in the place of
	// row remapping (slow).
	Retired     *Retired    `json:"retired,omitempty"`
	ECC         ECC         `json:"ecc,omitzero"`
	Clocks      Clocks      `json:"clocks,omitzero"`
	Temperature Temperature `json:"temp,omitzero"`
	Power       Power       `json:"power,omitzero"`
	PCIe        PCIe        `json:"pcie,omitzero"`
	Use         Use         `json:"use,omitzero"`
	// Persistence is whether the driver stays loaded without a client (slow).
	Persistence *bool `json:"persistence,omitempty"`
	// NVLink is the state of the NVLinks; nil in a poll that was not a slow one.
	NVLink *nvlink.Reading `json:"nvlink,omitempty"`
	// Failed are the values that were asked for and not told, with NVML's
	// return value: 999 is "Unknown Error". What the GPU or driver does not
	// support is not in it. Impossible stands for an answer out of all range.
	Failed map[Value]int `json:"failed,omitempty"`
	// Lost: the driver says that the GPU is off the bus (NVML error 15).
	Lost bool `json:"lost,omitempty"`
	// Stuck is the call that has not returned within its deadline. While it is
	// set the GPU is not asked again and the values are of no poll.
	Stuck string `json:"stuck,omitempty"`
	// Error is the first failure to find or name the GPU in this poll, or the
	// call that said it is lost.
	Error *Error `json:"error,omitempty"`
}

// Impossible is the code in GPU.Failed of a value that no GPU can have, such as
// a temperature of 9e18 °C.
const Impossible = -1

// Value names what is asked of a GPU together and so fails together.
type Value string

// The values of a GPU.
const (
	ValueMIG          Value = "mig"           // MIG, Instances
	ValueRecovery     Value = "recovery"      // Recovery
	ValueRemap        Value = "remap"         // Remap
	ValueBanks        Value = "remap.banks"   // Remap.Banks
	ValueRetired      Value = "retired"       // Retired
	ValueECCMode      Value = "ecc.enabled"   // ECC.Enabled
	ValueECCVolatile  Value = "ecc.volatile"  // ECC.Volatile, of DRAM
	ValueECCAggregate Value = "ecc.aggregate" // ECC.Aggregate, of DRAM
	ValueECCSRAM      Value = "ecc.sram"      // the same of SRAM, and Threshold
	ValueClocks       Value = "clocks"        // Clocks.Reasons
	ValueClockTimes   Value = "clocks.times"  // Clocks.SWThermal and so on
	ValueTemperature  Value = "temp"          // Temperature.GPU
	ValueMemoryTemp   Value = "temp.memory"   // Temperature.Memory
	ValueTempMargin   Value = "temp.margin"   // Temperature.Margin
	ValueTempLimits   Value = "temp.limits"   // Temperature.Slowdown, Shutdown
	ValuePower        Value = "power"         // Power.Watts
	ValuePowerLimit   Value = "power.limit"   // Power.Limit
	ValuePCIe         Value = "pcie"          // PCIe.Gen, Width
	ValuePCIeMax      Value = "pcie.max"      // PCIe.MaxGen, MaxWidth
	ValueReplays      Value = "pcie.replays"  // PCIe.Replays
	ValueUse          Value = "use"           // Use.GPU, Memory
	ValueMemory       Value = "use.memory"    // Use.MemoryUsed, MemoryTotal
	ValueProcesses    Value = "use.processes" // Use.Processes
	ValueGPM          Value = "use.gpm"       // Activity, of the GPU and of its instances
	ValuePersistence  Value = "persistence"   // Persistence
	ValueLinks        Value = "nvlink"        // NVLink.Links
	ValueFabric       Value = "fabric"        // NVLink.Fabric
	ValuePlatform     Value = "platform"      // NVLink.Platform
)

// Instance is one MIG device.
type Instance struct {
	UUID string `json:"uuid"`
	// GI and CI are the GPU instance's and the compute instance's id.
	GI int `json:"gi"`
	CI int `json:"ci"`
	// Profile is such as 1g.10gb; empty is unknown.
	Profile string `json:"profile,omitempty"`
	// Activity is of its GPU instance, which it may share with others.
	Activity
}

// Remap is the state of a GPU's row remapping.
type Remap struct {
	// Pending: rows wait for a reset to be remapped.
	Pending bool `json:"pending"`
	// Failed: a remapping failed at some time in the board's life.
	Failed bool `json:"failed"`
	// Correctable and Uncorrectable are the rows remapped for such errors in
	// the board's life.
	Correctable   *int `json:"correctable,omitempty"`
	Uncorrectable *int `json:"uncorrectable,omitempty"`
	// Banks is how many spare rows are left (slow).
	Banks *Banks `json:"banks,omitempty"`
}

// Banks is the row remapper's histogram: how many memory banks have all their
// spare rows left, all but one, some, one, or none.
type Banks struct {
	Max     int `json:"max"`
	High    int `json:"high"`
	Partial int `json:"partial"`
	Low     int `json:"low"`
	None    int `json:"none"`
}

// Retired are pages of memory that are no longer used.
type Retired struct {
	// SingleBit and DoubleBit are pages, by what they were retired for.
	SingleBit *int `json:"sbe,omitempty"`
	DoubleBit *int `json:"dbe,omitempty"`
	// Pending: pages wait for a driver reload to be retired.
	Pending *bool `json:"pending,omitempty"`
}

// ECC is what the error correction of the memories counted.
type ECC struct {
	// Enabled is whether it is on. Without it nothing is counted.
	Enabled *bool `json:"enabled,omitempty"`
	// Volatile counts since the driver was loaded or the GPU was reset.
	Volatile Counts `json:"volatile,omitzero"`
	// Aggregate counts in the board's life.
	Aggregate Counts `json:"aggregate,omitzero"`
	// Threshold: the SRAM had more uncorrectable errors than the board may
	// have; it should be replaced.
	Threshold *bool `json:"threshold,omitempty"`
}

// Counts are error events by where they happened. They only rise until they
// begin again at 0.
type Counts struct {
	DRAMCorrected   *uint64 `json:"dram_cor,omitempty"`
	DRAMUncorrected *uint64 `json:"dram_unc,omitempty"`
	SRAMCorrected   *uint64 `json:"sram_cor,omitempty"`
	// SRAMUncorrected is parity errors and double-bit errors together.
	SRAMUncorrected *uint64 `json:"sram_unc,omitempty"`
}

// Clocks is why the clocks are lower than they could be.
type Clocks struct {
	// Reasons are nvml.h's nvmlClocksEventReasons: 0x1 idle, 0x2 application
	// clocks, 0x4 software power cap, 0x8 hardware slowdown, 0x10 sync boost,
	// 0x20 software thermal, 0x40 hardware thermal, 0x80 hardware power brake,
	// 0x100 display clocks.
	Reasons *uint64 `json:"reasons,omitempty"`
	// SWThermal, HWThermal, PowerBrake and PowerCap are how long each was one,
	// in seconds since the driver was loaded (slow).
	SWThermal  *float64 `json:"sw_thermal,omitempty"`
	HWThermal  *float64 `json:"hw_thermal,omitempty"`
	PowerBrake *float64 `json:"power_brake,omitempty"`
	PowerCap   *float64 `json:"power_cap,omitempty"`
}

// Temperature is in °C.
type Temperature struct {
	GPU    *int `json:"gpu,omitempty"`
	Memory *int `json:"memory,omitempty"`
	// Margin is how far the GPU is below its nearest slowdown limit.
	Margin *int `json:"margin,omitempty"`
	// Slowdown and Shutdown are the hardware's limits, above 50 (slow).
	Slowdown *int `json:"slowdown,omitempty"`
	Shutdown *int `json:"shutdown,omitempty"`
}

// Power is in watts.
type Power struct {
	Watts *float64 `json:"watts,omitempty"`
	// Limit is the one that is enforced (slow).
	Limit *float64 `json:"limit,omitempty"`
}

// PCIe is the link to the host. An idle GPU may lower its generation.
type PCIe struct {
	Gen   *int `json:"gen,omitempty"`
	Width *int `json:"width,omitempty"`
	// MaxGen and MaxWidth are what GPU and slot can do together (slow).
	MaxGen   *int `json:"max_gen,omitempty"`
	MaxWidth *int `json:"max_width,omitempty"`
	// Replays counts packets that were sent again.
	Replays *uint64 `json:"replays,omitempty"`
}

// Use is how busy the GPU is. In MIG mode little of it is known; unknown is not
// idle.
type Use struct {
	// GPU and Memory are percents of the last sample period in which a kernel
	// ran, or memory was read or written.
	GPU    *int `json:"gpu,omitempty"`
	Memory *int `json:"memory,omitempty"`
	// MemoryUsed and MemoryTotal are bytes.
	MemoryUsed  *uint64 `json:"memory_used,omitempty"`
	MemoryTotal *uint64 `json:"memory_total,omitempty"`
	// Processes is how many hold a compute context.
	Processes *int `json:"processes,omitempty"`
	// Activity is not asked for while GPU and Processes are 0.
	Activity
}

// Activity is in percents since the last poll: of the multiprocessors, of the tensor
// cores, and of the memory's bandwidth. It is known from Hopper on (NVML's GPM).
type Activity struct {
	SM     *float64 `json:"sm,omitempty"`
	Tensor *float64 `json:"tensor,omitempty"`
	DRAM   *float64 `json:"dram,omitempty"`
}
