package nvlink

import (
	"fmt"
	"strings"
)

// FabricState is how far a GPU has come with its registration at the fabric.
type FabricState uint8

// The states: NVML_GPU_FABRIC_STATE_* in nvml.h.
const (
	FabricNotSupported FabricState = iota
	FabricNotStarted
	FabricInProgress
	FabricCompleted
)

var fabricNames = [...]string{"not-supported", "not-started", "in-progress", "completed"}

// String gives the state's name.
func (s FabricState) String() string { return nameOf(fabricNames[:], int(s)) }

// MarshalText writes the state as String does.
func (s FabricState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *FabricState) UnmarshalText(text []byte) error {
	i, err := indexOf("fabric state", fabricNames[:], text)
	*s = FabricState(i)
	return err
}

// The health summaries: NVML_GPU_FABRIC_HEALTH_SUMMARY_* in nvml.h.
const (
	summaryUnsupported = iota
	summaryHealthy
	summaryUnhealthy
	summaryLimited
)

// Fabric is what a GPU says of its registration at the NVLink fabric.
type Fabric struct {
	// Version of NVML's struct that told it: 1 has no Mask, 2 no Summary.
	Version int         `json:"v"`
	State   FabricState `json:"state"`
	// Status is NVML's return value of the registration; nil unless completed.
	Status *int `json:"status,omitempty"`
	// Cluster is the UUID of the domain; empty where the GPU is in none.
	Cluster string `json:"cluster,omitempty"`
	// Clique is the partition of the domain.
	Clique  uint32  `json:"clique,omitempty"`
	Mask    *uint32 `json:"mask,omitempty"`
	Summary *int    `json:"summary,omitempty"`
}

// MakeFabric keeps of an answer what is valid in it: the status only of a
// completed registration, and no cluster of zeros.
func MakeFabric(version int, state uint8, status uint32, cluster [16]byte, clique uint32) (Fabric, bool) {
	f := Fabric{Version: version, State: FabricState(state), Clique: clique}
	if f.State > FabricCompleted {
		return Fabric{}, false
	}
	if f.State == FabricCompleted {
		s := int(status)
		f.Status = &s
	}
	if c := cluster; c != ([16]byte{}) {
		f.Cluster = fmt.Sprintf("%x-%x-%x-%x-%x", c[:4], c[4:6], c[6:8], c[8:10], c[10:])
	}
	return f, true
}

// Domain names domain and partition as the label nvidia.com/gpu.clique does;
// empty where the GPU is in none.
func (f Fabric) Domain() string {
	if f.Cluster == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d", f.Cluster, f.Clique)
}

// Standing is what a fabric answer amounts to.
type Standing uint8

// The standings. Pending becomes good by itself, or is a fault once it has
// lasted too long.
const (
	// StandingGood: registered, and nothing is said against it.
	StandingGood Standing = iota
	// StandingAbsent: the GPU is in no fabric, and need not be.
	StandingAbsent
	// StandingUnknown: the answer has a code that is not known.
	StandingUnknown
	// StandingPending: on its way.
	StandingPending
	// StandingDegraded: it works, with less than it could have.
	StandingDegraded
	// StandingBad: it does not work as it must.
	StandingBad
)

// Standing judges the answer and says why; member says that the GPU must be in a
// domain, as one in the tray of a rack.
func (f Fabric) Standing(member bool) (Standing, string) {
	switch {
	case f.State == FabricNotSupported && !member:
		return StandingAbsent, ""
	case f.State == FabricNotSupported:
		return StandingBad, "fabric not supported, by a GPU whose tray is in an NVLink domain"
	case f.State < FabricCompleted:
		return StandingPending, "fabric " + f.State.String()
	case f.Status != nil && *f.Status != 0:
		return StandingBad, fmt.Sprintf("fabric completed with status %d", *f.Status)
	}
	return f.health()
}

// health judges mask and summary of a completed registration.
func (f Fabric) health() (Standing, string) {
	var h Health
	if f.Mask != nil {
		h = DecodeHealth(*f.Mask)
	}
	summary := summaryUnsupported
	if f.Summary != nil {
		summary = *f.Summary
	}
	faults := h.Faults()
	if summary == summaryUnhealthy {
		faults = append(faults, "health summary unhealthy")
	}
	switch {
	case len(faults) > 0:
		return StandingBad, "fabric: " + strings.Join(append(faults, h.Pending()...), ", ")
	case len(h.Pending()) > 0:
		return StandingPending, "fabric: " + strings.Join(h.Pending(), ", ")
	case summary == summaryLimited:
		return StandingDegraded, "fabric: limited capacity"
	case h.Detached():
		return StandingDegraded, "fabric: the global fabric manager is disconnected"
	case h.Unknown() || summary > summaryLimited:
		return StandingUnknown, "fabric: a health code that is not known"
	}
	return StandingGood, ""
}
