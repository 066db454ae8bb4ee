package nvlink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is what the driver says of a link.
type State uint8

// The states. A link that sleeps wakes when it is used: it is no fault. A
// disabled one is trained, and may not be used.
const (
	StateUnknown State = iota
	Inactive
	Active
	Sleep
	Disabled
)

var stateNames = [...]string{"unknown", "inactive", "active", "sleep", "disabled"}

// Up says whether the link carries traffic, or would if it were asked to.
func (s State) Up() bool { return s == Active || s == Sleep }

// Down says whether it does not; one that is unknown is neither.
func (s State) Down() bool { return s == Inactive || s == Disabled }

// String gives the state's name.
func (s State) String() string { return nameOf(stateNames[:], int(s)) }

// MarshalText writes the state as String does.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	i, err := indexOf("link state", stateNames[:], text)
	*s = State(i)
	return err
}

// Remote is the kind of device at a link's far end.
type Remote uint8

// The kinds. A link without a known far end may lead nowhere.
const (
	RemoteUnknown Remote = iota
	RemoteGPU
	RemoteSwitch
	// RemoteCPU is an IBM POWER processor.
	RemoteCPU
)

var remoteNames = [...]string{"unknown", "gpu", "switch", "cpu"}

// String gives the kind's name.
func (r Remote) String() string { return nameOf(remoteNames[:], int(r)) }

// MarshalText writes the kind as String does.
func (r Remote) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (r *Remote) UnmarshalText(text []byte) error {
	i, err := indexOf("remote device", remoteNames[:], text)
	*r = Remote(i)
	return err
}

// MaxLinks is above the links of any GPU: NVML_NVLINK_MAX_LINKS in nvml.h.
const MaxLinks = 36

// Link is one NVLink of a GPU at one poll. A nil pointer is unknown.
type Link struct {
	// Index is the link's number on its GPU. That two GPUs' links of one number
	// lead to one switch is likely, and nowhere promised.
	Index  int    `json:"i"`
	State  State  `json:"state"`
	Remote Remote `json:"to"`
	// Peer is the far end's address; nil where it has none on this host, as the
	// switches of a rack.
	Peer *Address `json:"peer,omitempty"`
	// PeerID is the far end's own number for the link (NVML field 146).
	PeerID *uint64 `json:"peer_id,omitempty"`
	// Speed is MB/s in one direction.
	Speed    *int `json:"mbps,omitempty"`
	Counters      // as far as the generation has them
}

// Reading is what one poll says of a GPU's NVLinks. A GPU without any has an
// empty Links; nil is unknown.
type Reading struct {
	// Generation is 5 for NVLink 5; 0 is unknown.
	Generation int       `json:"generation,omitempty"`
	Links      []Link    `json:"links"`
	Fabric     *Fabric   `json:"fabric,omitempty"`
	Platform   *Platform `json:"platform,omitempty"`
}

// Generation gives the NVLink generation of a version as NVML numbers it
// (NVML_NVLINK_VERSION_* in nvml.h): 7 is 5.0. It is 0 where that is unknown.
func Generation(version uint32) int {
	generations := [...]int{0, 1, 2, 2, 3, 3, 4, 5}
	switch {
	case version < uint32(len(generations)):
		return generations[version]
	case version < 32: // newer than this table: one more each, or more
		return 5 + int(version) - len(generations) + 1
	}
	return 0
}

// Numbers lists link numbers, with ranges: 0-3, 7.
func Numbers(links []int) string {
	var parts []string
	for i := 0; i < len(links); i++ {
		from := i
		for i+1 < len(links) && links[i+1] == links[i]+1 {
			i++
		}
		part := strconv.Itoa(links[from])
		if i > from {
			part += "-" + strconv.Itoa(links[i])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// Up counts the links that are up.
func (r Reading) Up() int {
	n := 0
	for _, l := range r.Links {
		if l.State.Up() {
			n++
		}
	}
	return n
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

func indexOf(what string, names []string, text []byte) (int, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%s %q: not one of %q", what, text, names)
	}
	return i, nil
}
