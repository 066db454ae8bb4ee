package agent

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// states gives a poll's answers, of now, in the judge's words. A GPU that was never
// identified is nobody's device, and is left out.
func states(now time.Time, inv nvml.Inventory) []fault.GPUState {
	var out []fault.GPUState
	for _, g := range inv.GPUs {
		if g.UUID == "" {
			continue
		}
		s := fault.GPUState{Device: fault.Device{PCI: g.PCI, UUID: g.UUID}, Lost: g.Lost, Recovery: g.Recovery}
		switch {
		case g.Stuck != "":
			s.Failed, s.Stuck = g.Stuck+" does not return", true
		case g.Error != nil && !g.Lost:
			s.Failed = g.Error.Error()
		}
		s.Memory = memoryOf(g)
		s.NVLink, s.Processes = g.NVLink, g.Use.Processes
		s.Answers = answersOf(g)
		s.Slowed = slowdownOf(g)
		s.Heat = fault.Heat{GPU: g.Temperature.GPU, Slowdown: g.Temperature.Slowdown, Shutdown: g.Temperature.Shutdown, Margin: g.Temperature.Margin}
		s.Replays = g.PCIe.Replays
		s.Activity = activity(now, g)
		for _, i := range g.Instances {
			s.Instances = append(s.Instances, fault.InstanceState{UUID: i.UUID, Activity: instanceActivity(now, g, i)})
		}
		s.Width, s.MaxWidth = number0(g.PCIe.Width), number0(g.PCIe.MaxWidth)
		s.Generation, s.MaxGeneration = number0(g.PCIe.Gen), number0(g.PCIe.MaxGen)
		out = append(out, s)
	}
	return out
}

// memoryOf gives what a poll says of a GPU's memory, volatile counts first: they
// are what happened since the driver was loaded.
func memoryOf(g nvml.GPU) ecc.Reading {
	v := g.ECC.Volatile
	r := ecc.Reading{Corrected: sum(v.DRAMCorrected, v.SRAMCorrected), Uncorrected: sum(v.DRAMUncorrected, v.SRAMUncorrected),
		Threshold: g.ECC.Threshold, Busy: busy(g)}
	code, failed := g.Failed[nvml.ValueECCVolatile]
	r.Error = failed && code != nvml.Impossible && v.DRAMCorrected == nil
	if m := g.Remap; m != nil {
		r.Pending, r.Failed = &m.Pending, &m.Failed
		if m.Banks != nil {
			low := m.Banks.Low + m.Banks.None
			r.LowBanks = &low
		}
	} else if g.Retired != nil {
		r.Pending = g.Retired.Pending // page retirement, before Ampere
		r.Retired = &ecc.Retired{SingleBit: g.Retired.SingleBit, DoubleBit: g.Retired.DoubleBit}
	}
	return r
}

// answersOf says which values a poll was told, and which it was not for NVML's
// "Unknown Error". Only those that every poll asks for: a slow one's failure would
// stand for many. The error counters are judged for themselves.
func answersOf(g nvml.GPU) map[string]bool {
	answers := map[string]bool{}
	for value, told := range map[nvml.Value]bool{
		nvml.ValueRecovery:    g.Recovery != nil,
		nvml.ValueRemap:       g.Remap != nil,
		nvml.ValueClocks:      g.Clocks.Reasons != nil,
		nvml.ValueTemperature: g.Temperature.GPU != nil,
		nvml.ValueMemoryTemp:  g.Temperature.Memory != nil,
		nvml.ValuePower:       g.Power.Watts != nil,
		nvml.ValuePCIe:        g.PCIe.Gen != nil && g.PCIe.Width != nil,
		nvml.ValueUse:         g.Use.GPU != nil,
		nvml.ValueMemory:      g.Use.MemoryUsed != nil,
	} {
		if told || g.Failed[value] == errUnknown {
			answers[string(value)] = told
		}
	}
	return answers
}

// sum adds what is known; nil when nothing is.
func sum(counts ...*uint64) *uint64 {
	var total *uint64
	for _, c := range counts {
		if c != nil {
			n := *c
			if total != nil {
				n += *total
			}
			total = &n
		}
	}
	return total
}

// busyPercent is from when a GPU counts as working.
const busyPercent = 10

func busy(g nvml.GPU) *bool {
	switch {
	case g.Use.SM != nil:
		b := *g.Use.SM >= busyPercent
		return &b
	case g.Use.GPU != nil:
		b := *g.Use.GPU >= busyPercent
		return &b
	}
	return nil
}

// The clock event reasons that are faults: nvmlClocksEventReasons in nvml.h.
const (
	reasonSWThermal  = 0x20
	reasonHWThermal  = 0x40
	reasonPowerBrake = 0x80
)

func slowdownOf(g nvml.GPU) fault.Slowdown {
	if g.Clocks.Reasons == nil {
		return fault.Slowdown{}
	}
	r := *g.Clocks.Reasons
	return fault.Slowdown{Thermal: r&(reasonSWThermal|reasonHWThermal) != 0, PowerBrake: r&reasonPowerBrake != 0}
}

// number0 gives 0 for what is not known.
func number0(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// stuck names the calls that do not return while polls do.
func stuck(inv nvml.Inventory) (calls []string) {
	if inv.Stuck != nil {
		calls = append(calls, inv.Stuck.Call)
	}
	for _, g := range inv.GPUs {
		if g.Stuck != "" {
			calls = append(calls, fmt.Sprintf("%s on %s", g.Stuck, nameOf(g)))
		}
	}
	return calls
}

// erring names the GPUs that answer nothing but an error. One that is not for us
// is left out.
func erring(inv nvml.Inventory) (gpus []string) {
	for _, g := range inv.GPUs {
		if g.Error != nil && !g.Lost && g.Stuck == "" && g.Error.Code != errNoPermission {
			gpus = append(gpus, nameOf(g)+": "+g.Error.Error())
		}
	}
	return gpus
}

// nameOf is a GPU's UUID, or NVML's index where it has not told that. The index
// says nothing of the one that had it before.
func nameOf(g nvml.GPU) string { return cmp.Or(g.UUID, "index "+strconv.Itoa(g.Index)) }

// answering gives the GPUs that can be counted on to have answered.
func answering(inv nvml.Inventory) []fault.Device {
	var out []fault.Device
	for _, s := range states(time.Time{}, inv) {
		if !s.Lost && s.Failed == "" {
			out = append(out, s.Device)
		}
	}
	return out
}

// hung gives a call past its deadline in the judge's words.
func hung(h nvml.Hung, known *inventory.Map) fault.Hung {
	f := fault.Hung{Call: h.Call, For: time.Duration(h.Seconds * float64(time.Second))}
	if g, ok := known.ByUUID(h.UUID); ok {
		f.Device = fault.Device{PCI: g.PCI, UUID: g.UUID}
	}
	return f
}
