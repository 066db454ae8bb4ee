package xidparse

import "strings"

// offBusCode is the XID that stands for a GPU lost without one being printed.
const offBusCode = 79

// unnumbered is an event that carries no XID, before its details are known.
func unnumbered(kind Kind, message string) Event {
	e := Event{Kind: kind, Message: message, GPUInstance: Absent, ComputeInstance: Absent, Link: Absent}
	if kind == KindOffBus {
		e.Code = offBusCode
	}
	return e
}

// parseUnnumbered reads the driver's lines that tell of a fault, or of an
// identity, without an XID. None of them holds text of a user.
func parseUnnumbered(s string) (Event, bool) {
	switch {
	case strings.HasPrefix(s, "GPU at "):
		return parseGPUAt(s[len("GPU at "):])
	case strings.HasPrefix(s, "GPU "):
		return parseGPU(s[len("GPU "):])
	case strings.HasPrefix(s, "The NVIDIA GPU "):
		return parseNotice(s[len("The NVIDIA GPU "):])
	case strings.HasPrefix(s, "Rate limiting GSP RPC error prints for GPU at "):
		return parseRateLimit(s)
	case initFailed(s):
		return unnumbered(KindInitFailed, s), true
	case gspTimeout(s):
		return unnumbered(KindGSPTimeout, s), true
	}
	return Event{}, false
}

// parseGPU reads "0000:91:00.0: GPU has fallen off the bus." and what the
// driver says when it cannot initialise an adapter.
func parseGPU(s string) (Event, bool) {
	pci, s, ok := cutPCI(s)
	if !ok {
		return Event{}, false
	}
	s, ok = strings.CutPrefix(s, ": ")
	if !ok {
		return Event{}, false
	}
	switch {
	case strings.HasPrefix(s, "GPU has fallen off the bus"):
		return unnumbered(KindOffBus, s).at(pci), true
	case initFailed(s):
		return unnumbered(KindInitFailed, s).at(pci), true
	}
	return Event{}, false
}

// parseGPUAt reads "PCI:0000:9b:00: GPU-<uuid>", and the sentence of drivers
// before R470, "0000:03:00.0 has fallen off the bus."
func parseGPUAt(s string) (Event, bool) {
	pci, s, ok := cutPCI(strings.TrimPrefix(s, "PCI:"))
	if !ok {
		return Event{}, false
	}
	if uuid, ok := strings.CutPrefix(s, ": "); ok && isUUID(uuid) {
		e := unnumbered(KindIdentity, uuid).at(pci)
		e.UUID = uuid
		return e, true
	}
	if strings.HasPrefix(s, " has fallen off the bus") {
		return unnumbered(KindOffBus, s[1:]).at(pci), true
	}
	return Event{}, false
}

// parseNotice reads the notice that a probe of a dead GPU prints as one record
// of three lines. The same first line also begins notices about GPUs that are
// merely not supported.
func parseNotice(s string) (Event, bool) {
	pci, s, ok := cutPCI(s)
	if !ok || !strings.Contains(s, "fallen off the bus") {
		return Event{}, false
	}
	return unnumbered(KindOffBus, trimLeft(s)).at(pci), true
}

// parseRateLimit reads "… for GPU at PCI:0000:9b:00 (printing 1 of every 30)."
func parseRateLimit(s string) (Event, bool) {
	e := unnumbered(KindGSPRateLimit, s)
	_, at, _ := strings.Cut(s, " at ")
	e.PCI, _, e.HasPCI = cutPCI(strings.TrimPrefix(at, "PCI:"))
	return e, true
}

func initFailed(s string) bool {
	return strings.HasPrefix(s, "RmInitAdapter failed") ||
		strings.HasPrefix(s, "rm_init_adapter failed") ||
		strings.HasPrefix(s, "rm_init_adapter(")
}

// gspTimeout knows the two texts of a GSP that no longer answers. Both begin
// with the function that prints them, most often behind a driver instance.
func gspTimeout(s string) bool {
	if !strings.HasPrefix(s, "GPU") && !strings.HasPrefix(s, "_kgsp") {
		return false
	}
	_, text, ok := strings.Cut(s, ": ")
	if !ok {
		return false
	}
	if strings.HasPrefix(text, "Heartbeat timed out") {
		return true
	}
	banner := strings.TrimLeft(text, "*")
	return len(banner) < len(text) && strings.HasPrefix(banner, " GSP Timeout *")
}

// isUUID wants "GPU-" and the 36 characters of a UUID, and nothing else: a
// shorter one would tie an address to a name that NVML never gives.
func isUUID(s string) bool {
	const example = "GPU-00000000-0000-0000-0000-000000000000"
	if len(s) != len(example) || s[:4] != example[:4] {
		return false
	}
	for i := 4; i < len(s); i++ {
		if dash := example[i] == '-'; dash && s[i] != '-' || !dash && hexDigit(s[i]) < 0 {
			return false
		}
	}
	return true
}

func (e Event) at(pci PCI) Event {
	e.PCI, e.HasPCI = pci, true
	return e
}
