package xidparse

import "strings"

// Answer is a yes or no that the driver may have left out.
type Answer uint8

// The answers. The zero value is what was not said.
const (
	Unknown Answer = iota
	Yes
	No
)

// Memory is where an uncorrectable error sat.
type Memory uint8

// The places of memory. The zero value is not told.
const (
	MemoryUnknown Memory = iota
	// MemoryDRAM is the framebuffer: its rows can be remapped.
	MemoryDRAM
	// MemorySRAM is memory on the chip: it has a threshold, and no spares.
	MemorySRAM
)

// Registers gives the registers that XID 74 and 136 print behind the link, and
// how many of the seven the line had.
func (e Event) Registers() (regs [7]uint32, n int) {
	if e.Code != 74 && e.Code != 136 {
		return regs, 0
	}
	// A user's text cannot stand behind the word "link".
	i := strings.LastIndex(e.Message, "link")
	if i < 0 {
		return regs, 0
	}
	_, words, ok := strings.Cut(e.Message[i:], "(")
	if !ok {
		return regs, 0
	}
	return hexWords(words)
}

// Recovery gives XID 154's recovery action before and after, as the numbers of
// NVML's field 230. The names behind the numbers differ between drivers.
func (e Event) Recovery() (from, to int, ok bool) {
	if e.Code != 154 {
		return 0, 0, false
	}
	_, s, ok := strings.Cut(e.Message, "recovery action changed from 0x")
	if !ok {
		return 0, 0, false
	}
	a, s, ok := cutHex(s)
	if !ok {
		return 0, 0, false
	}
	_, s, ok = strings.Cut(s, " to 0x")
	if !ok {
		return 0, 0, false
	}
	b, _, ok := cutHex(s)
	return int(a), int(b), ok
}

// ResetHint gives what XID 94 and 95 say of the GPU: whether it must be reset,
// and whether it must be drained and then reset.
func (e Event) ResetHint() (reset, drainReset Answer) {
	if e.Code != 94 && e.Code != 95 {
		return Unknown, Unknown
	}
	// The lines that name a channel hold no hint, but perhaps a hostile name:
	// only behind this word the text is the driver's.
	_, s, ok := strings.Cut(e.Message, "ontained: ")
	if !ok {
		return Unknown, Unknown
	}
	return answer(s, " RST: "), answer(s, " D-RST: ")
}

func answer(s, label string) Answer {
	_, s, _ = strings.Cut(s, label)
	switch {
	case strings.HasPrefix(s, "Yes"):
		return Yes
	case strings.HasPrefix(s, "No"):
		return No
	}
	return Unknown
}

// Memory tells DRAM from SRAM for XID 48, 171 and 172.
func (e Event) Memory() Memory {
	switch e.Code {
	case 171:
		return MemoryDRAM
	case 172:
		return MemorySRAM
	case 48:
		_, unit, ok := strings.Cut(e.Message, "has been detected on GPU in ")
		if !ok {
			return MemoryUnknown
		}
		if strings.HasPrefix(unit, "the framebuffer") {
			return MemoryDRAM
		}
		return MemorySRAM
	}
	return MemoryUnknown
}

// Place names the part of the GPU that XID 13 or 31 blames, "GPC 8, TPC 5" or
// "ENGINE GRAPHICS", and is empty where the line names none. The same place
// again in another job is a reason to suspect the GPU. The SM is left out:
// NVIDIA counts a TPC with another SM as the same place.
func (e Event) Place() string {
	switch e.Code {
	case 13:
		return processor(e.Message)
	case 31:
		return engine(e.Message)
	}
	return ""
}

// processor reads "… on (GPC 8, TPC 5, SM 1): …".
func processor(message string) string {
	i := strings.LastIndex(message, "(GPC ")
	if i < 0 {
		return ""
	}
	place := message[i+1:]
	_, rest, _ := cutInt(place[len("GPC "):])
	rest, ok := strings.CutPrefix(rest, ", TPC ")
	if !ok {
		return ""
	}
	_, rest, ok = cutInt(rest)
	if !ok {
		return ""
	}
	return place[:len(place)-len(rest)]
}

// engine reads "… MMU Fault: ENGINE GRAPHICS GPC2 …".
func engine(message string) string {
	const head, word = "MMU Fault: ", "ENGINE "
	i := strings.LastIndex(message, head+word)
	if i < 0 {
		return ""
	}
	place := message[i+len(head):]
	if end := strings.IndexByte(place[len(word):], ' '); end >= 0 {
		return place[:len(word)+end]
	}
	return place
}

// hexWords reads up to seven words "0x…" with blanks or commas between them,
// to the first thing that is none.
func hexWords(s string) (words [7]uint32, n int) {
	for n < len(words) {
		s = strings.TrimLeft(s, ", ")
		digits, ok := strings.CutPrefix(s, "0x")
		if !ok {
			break
		}
		if words[n], s, ok = cutHex(digits); !ok {
			break
		}
		n++
	}
	return words, n
}
