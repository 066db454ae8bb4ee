package nvlink

import "fmt"

// Answer is a field of two bits in the fabric health mask.
type Answer uint8

// The answers. For most fields True is the fault; the fourth code is nobody's.
const (
	NotSupported Answer = iota
	True
	False
	Reserved
)

// Configuration is the field of four bits. 1 is what is well configured, where
// it is the fault in most other fields.
type Configuration uint8

// ConfigurationCorrect is the code of a GPU that is configured as it should be.
const ConfigurationCorrect Configuration = 1

// wrong says what each code finds, from NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_
// CONFIGURATION_* in nvml.h.
var wrong = [...]string{2: "wrong system GUID", 3: "wrong chassis serial number", 4: "no partition",
	5: "too few NVLinks", 6: "incompatible GPU firmware", 7: "invalid location", 8: "invalid GPU state"}

// Health is the fabric health mask, field by field.
type Health struct {
	// DegradedBandwidth, RouteUnhealthy: True is a fault.
	DegradedBandwidth, RouteUnhealthy Answer
	// RouteRecovery, TimeoutRecovery: True is in progress.
	RouteRecovery, TimeoutRecovery Answer
	Configuration                  Configuration
	// Partition is whether the GPU is in one, Manager whether the global fabric
	// manager is: both True where all is well.
	Partition, Manager Answer
}

// DecodeHealth takes a mask apart; the shifts are those of nvml.h
// (NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_*).
func DecodeHealth(mask uint32) Health {
	two := func(shift int) Answer { return Answer(mask >> shift & 3) }
	return Health{DegradedBandwidth: two(0), RouteRecovery: two(2), RouteUnhealthy: two(4), TimeoutRecovery: two(6),
		Configuration: Configuration(mask >> 8 & 0xf), Partition: two(12), Manager: two(14)}
}

// Faults says in words what is wrong, none where nothing is.
func (h Health) Faults() (faults []string) {
	if h.DegradedBandwidth == True {
		faults = append(faults, "bandwidth degraded")
	}
	if h.RouteUnhealthy == True {
		faults = append(faults, "route unhealthy")
	}
	if c := h.Configuration; c > ConfigurationCorrect {
		faults = append(faults, "incorrect configuration: "+c.String())
	}
	return faults
}

// Pending says what is being recovered, which takes its time.
func (h Health) Pending() (pending []string) {
	if h.RouteRecovery == True {
		pending = append(pending, "route recovery in progress")
	}
	if h.TimeoutRecovery == True {
		pending = append(pending, "access timeout recovery in progress")
	}
	return pending
}

// Detached says whether the global fabric manager is not connected: what runs
// goes on, and no change of the fabric is followed.
func (h Health) Detached() bool { return h.Manager == False }

// Unknown says whether a field has a code that nvml.h does not define: then
// nothing is known of it.
func (h Health) Unknown() bool {
	for _, a := range []Answer{h.DegradedBandwidth, h.RouteRecovery, h.RouteUnhealthy, h.TimeoutRecovery, h.Partition, h.Manager} {
		if a == Reserved {
			return true
		}
	}
	return false
}

// String says the configuration in words.
func (c Configuration) String() string {
	switch {
	case c == 0:
		return "not supported"
	case c == ConfigurationCorrect:
		return "correct"
	case int(c) < len(wrong):
		return wrong[c]
	}
	return fmt.Sprintf("code %d", uint8(c))
}
