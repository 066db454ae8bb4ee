package xidparse

// Kind says what sort of line an Event came from.
type Kind uint8

// The kinds of event. The zero value is no event.
const (
	KindNone Kind = iota
	// KindXID is a numbered GPU error, "NVRM: Xid (PCI:…): N, …".
	KindXID
	// KindSXID is a numbered NVSwitch error, "nvidia-nvswitchN: SXid (PCI:…): N, …".
	KindSXID
	// KindOffBus is a lost GPU told without a number; its Code is 79.
	KindOffBus
	// KindInitFailed is an adapter that the driver could not initialise.
	KindInitFailed
	// KindGSPTimeout is the GSP's heartbeat or timeout text. It names a driver
	// instance (GPU6), which is not a PCI address and not an NVML index.
	KindGSPTimeout
	// KindGSPRateLimit is the driver saying that it prints only one of every N
	// GSP RPC errors from now on.
	KindGSPRateLimit
	// KindIdentity is the driver's one-off line that ties a PCI address to a UUID.
	KindIdentity
	// KindDriverStuck is a processor or a task that the kernel reports stuck
	// inside the driver. It is several lines, and comes from a Stuck.
	KindDriverStuck
)

// String gives the kind as replay's JSON spells it.
func (k Kind) String() string {
	switch k {
	case KindXID:
		return "xid"
	case KindSXID:
		return "sxid"
	case KindOffBus:
		return "off-bus"
	case KindInitFailed:
		return "init-failed"
	case KindGSPTimeout:
		return "gsp-timeout"
	case KindGSPRateLimit:
		return "gsp-rate-limit"
	case KindIdentity:
		return "identity"
	case KindDriverStuck:
		return "driver-stuck"
	default:
		return "none"
	}
}

// Absent marks an instance number or a link that the line did not give.
// It differs from link -1, with which the driver means the whole device.
const Absent = -128

// Event is one line of the driver, read.
type Event struct {
	Kind Kind
	// Code is the XID or SXid number; 79 for KindOffBus; else 0.
	Code int
	// PCI is the address at the head of the line; meaningless unless HasPCI.
	PCI    PCI
	HasPCI bool
	// GPUInstance and ComputeInstance are the MIG suffix, or Absent.
	GPUInstance, ComputeInstance int
	// PID is the process that the driver blames, 0 when it names none.
	PID int
	// Process is the kernel's comm of that process (15 bytes, user-controlled),
	// empty when the line has none or says unknown.
	Process string
	// Link is the NVLink number, -1 for the whole device, or Absent.
	Link int
	// CausedBy is the number behind "caused by previous Xid", 0 when absent.
	CausedBy int
	// Message is the text behind the number and the process fields.
	Message string
	// UUID is set on KindIdentity only.
	UUID string
}
