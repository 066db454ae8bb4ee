package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Class names a kind of fault as the public contract spells it. Codes that
// have no name of their own are "xid-N" and "sxid-N".
type Class string

// The classes with rules of their own.
const (
	XID48          Class = "xid-48"
	XID64          Class = "xid-64"
	XID74          Class = "xid-74"
	XID79          Class = "xid-79"
	XID94          Class = "xid-94"
	XID95          Class = "xid-95"
	XID119         Class = "xid-119"
	XID120         Class = "xid-120"
	RemapPending   Class = "remap-pending"
	RemapFailed    Class = "remap-failed"
	ECCStorm       Class = "ecc-storm"
	ECCUnreadable  Class = "ecc-unreadable"
	SRAMThreshold  Class = "sram-threshold"
	SparesLow      Class = "spares-low"
	Thermal        Class = "thermal"
	PowerBrake     Class = "power-brake"
	PCIeDegraded   Class = "pcie-degraded"
	GPUCountShort  Class = "gpu-count-short"
	GPUFailed      Class = "gpu-failed"
	DiagFailed     Class = "diag-failed"
	RecoveryAction Class = "recovery-action"
	GPULost        Class = "gpu-lost"
	GSPTimeout     Class = "gsp-timeout"
	InitFailed     Class = "init-failed"
	DriverHung     Class = "driver-hung"
	DriverMismatch Class = "driver-mismatch"
	AgentBlind     Class = "agent-blind"

	FabricManagerDead Class = "fabric-manager-dead"
	IMEXDown          Class = "imex-down"
	LinksDown         Class = "links-down"
	FabricUnhealthy   Class = "fabric-unhealthy"
	NVLinkDegrading   Class = "nvlink-degrading"

	StalledEngine Class = "stalled-engine"
	StalledGPU    Class = "stalled-gpu"
	WedgedJob     Class = "wedged-job"
	SlowReplica   Class = "slow"
	StalePeer     Class = "stale-peer"
)

// XIDClass gives a code its class; 63 has a name of its own.
func XIDClass(code int) Class {
	if code == 63 {
		return RemapPending
	}
	return Class("xid-" + strconv.Itoa(code))
}

// SXIDClass gives an NVSwitch code its class.
func SXIDClass(code int) Class { return Class("sxid-" + strconv.Itoa(code)) }

// Code gives the number in an "xid-N" class.
func (c Class) Code() (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(string(c), "xid-"))
	return n, err == nil && strings.HasPrefix(string(c), "xid-")
}

// IsSXid says whether the class is an NVSwitch's.
func (c Class) IsSXid() bool { return strings.HasPrefix(string(c), "sxid-") }

// Known says whether the class has a rule of its own, or its number a row in a
// catalogue.
func (c Class) Known() bool { return RuleFor(c).known }

// Classes lists every class that is known: those with rules of their own, and those of
// the catalogues' numbers.
func Classes() []Class {
	var all []Class
	for _, r := range rules {
		all = append(all, r.Class)
	}
	add := func(c Class) {
		if c.Known() && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, code := range xidparse.Codes() {
		add(XIDClass(code))
	}
	for _, code := range xidparse.SXidCodes() {
		add(SXIDClass(code))
	}
	return all
}

// sxid gives the number in an "sxid-N" class.
func (c Class) sxid() (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(string(c), "sxid-"))
	return n, err == nil && c.IsSXid()
}

// Cure is the evidence that ends an episode.
type Cure uint8

// The cures. All of them want clean polls as well, where polls are to be had.
const (
	// CurePerson: never by itself; a person replaces the part or releases it.
	CurePerson Cure = iota
	// CureReset: the arbiter asked for something and asks for nothing now, or
	// the host was rebooted.
	CureReset
	// CureAnswers: the GPU is there and answers.
	CureAnswers
	// CureAnswersOrReset: either of the two.
	CureAnswersOrReset
	// CureRemapped: the remapper has no row pending any more.
	CureRemapped
	// CureCalm: the rule's Quiet time of work without a storm.
	CureCalm
	// CureSteady: the state has been good for the rule's Quiet time, by polls.
	CureSteady
	// CureRuns: the service works again, or is not used any more.
	CureRuns
	// CureManaged: the fabric manager runs, and what it runs under is in order.
	CureManaged
	// CureQuiet: nothing more of it for the rule's Quiet time.
	CureQuiet
	// CureProgress: the workload gets on, was started anew, or is gone.
	CureProgress
	// CureAnew: the workload was started anew or is gone, or nothing more of it came for
	// the rule's Quiet time.
	CureAnew
)

var cureTexts = [...]string{
	"a person replaces the part or releases the node",
	"the driver asks for no recovery any more, or the host was rebooted",
	"the GPU is there and answers again",
	"the GPU answers again, or was reset",
	"no row is pending any more",
	"it has worked without a storm",
	"the state is good",
	"the service works again, or is not used any more",
	"the fabric manager runs, and no GPU is left that went on without it and was not reset",
	"it stays quiet",
	"it gets on, was started anew, or is gone",
	"it was started anew or is gone, or nothing more of it",
}

// String says the cure in words.
func (c Cure) String() string {
	if int(c) < len(cureTexts) {
		return cureTexts[c]
	}
	return fmt.Sprintf("invalid(%d)", uint8(c))
}
