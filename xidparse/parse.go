package xidparse

import "strings"

const (
	driverTag = "NVRM: "
	switchTag = "nvidia-nvswitch"
)

// Ours says whether a message without its prefix could be the driver's: the
// cheap test before Parse, which needs a string. It allocates nothing.
func Ours(text []byte) bool {
	if len(text) <= len(switchTag) {
		return false // shorter than any event
	}
	return string(text[:len(driverTag)]) == driverTag || string(text[:len(switchTag)]) == switchTag
}

// Parse reads one message of the kernel, without its transport's prefix. It is
// false for everything that is not an event of the driver. The strings of the
// event are parts of text.
func Parse(text string) (Event, bool) {
	if rest, ok := strings.CutPrefix(text, driverTag); ok {
		return parseDriver(rest)
	}
	if rest, ok := strings.CutPrefix(text, switchTag); ok {
		return parseSwitch(rest)
	}
	return Event{}, false
}

func parseDriver(text string) (Event, bool) {
	if rest, ok := strings.CutPrefix(text, "Xid ("); ok {
		return parseXID(rest)
	}
	return parseUnnumbered(text)
}

// parseXID reads "PCI:0000:3b:00 GPU-I:01 GPU-CI:02): 13, pid=9, name=a, …".
func parseXID(s string) (Event, bool) {
	e, s, ok := cutHead(s)
	if !ok {
		return Event{}, false
	}
	e.Kind = KindXID
	e.Message = e.cutProcess(s)
	switch {
	case e.Code == 45:
		e.CausedBy = causedBy(e.Message)
	case e.Code == 74 || e.Code == 136 || e.Code == 137:
		e.Link = wordedLink(e.Message)
	case e.Code >= 144 && e.Code <= 150:
		e.Link, _ = nvlink5Link(e.Message)
	}
	return e, true
}

// parseSwitch reads "0: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 …". Of
// the three or four lines that the driver prints for one error each is an
// event of its own.
func parseSwitch(s string) (Event, bool) {
	_, s, ok := cutInt(s)
	if !ok {
		return Event{}, false
	}
	s, ok = strings.CutPrefix(s, ": SXid (")
	if !ok {
		return Event{}, false
	}
	e, s, ok := cutHead(s)
	if !ok {
		return Event{}, false
	}
	e.Kind = KindSXID
	e.Message = s
	if _, link, ok := strings.Cut(s, "Link "); ok {
		if n, _, ok := cutInt(link); ok {
			e.Link = n
		}
	}
	return e, true
}

// cutHead reads the address, the MIG suffix and the number, and gives what
// stands behind the comma. Behind the number a comma, a blank or nothing may
// stand. Old drivers print the address without "PCI:".
func cutHead(s string) (e Event, rest string, ok bool) {
	s = strings.TrimPrefix(s, "PCI:")
	e.GPUInstance, e.ComputeInstance, e.Link = Absent, Absent, Absent
	if e.PCI, s, ok = cutPCI(s); !ok {
		return Event{}, "", false
	}
	e.HasPCI = true
	s = cutInstance(s, " GPU-I:", &e.GPUInstance)
	s = cutInstance(s, " GPU-CI:", &e.ComputeInstance)
	// An attribute of tomorrow must not cost the event.
	if s != "" && s[0] == ' ' {
		s = s[max(0, strings.IndexByte(s, ')')):]
	}
	if s, ok = strings.CutPrefix(s, "): "); !ok {
		return Event{}, "", false
	}
	if e.Code, s, ok = cutInt(s); !ok {
		return Event{}, "", false
	}
	if s == "" {
		return e, "", true
	}
	if s[0] != ',' && s[0] > ' ' {
		return Event{}, "", false
	}
	return e, trimLeft(s[1:]), true
}

func cutInstance(s, label string, to *int) string {
	if rest, ok := strings.CutPrefix(s, label); ok {
		if n, rest, ok := cutInt(rest); ok {
			*to = n
			return rest
		}
	}
	return s
}

// cutProcess reads "pid=…, name=…, " and gives the message behind it.
//
// A name is whatever a user calls a process, so it can hold the ", " that ends
// it, and where it really ends cannot be known. It is taken to end at the
// first ", ". A hostile name can thus put its last bytes, at most 12 of a
// comm's 15, at the head of Message, and nowhere else: whoever reads a detail
// from Message looks for text too long for that, or for the last of its kind.
func (e *Event) cutProcess(s string) string {
	s, ok := strings.CutPrefix(s, "pid=")
	if !ok {
		return s
	}
	if pid, rest, ok := cutInt(s); ok {
		e.PID, s = pid, rest
	}
	// Whatever else stands here is one of the spellings of "no process".
	comma := strings.IndexByte(s, ',')
	if comma < 0 {
		return ""
	}
	s = trimLeft(s[comma+1:])
	name, ok := strings.CutPrefix(s, "name=")
	if !ok {
		return s
	}
	name, message, _ := strings.Cut(name, ", ")
	if n := len(name); n >= 2 && name[0] == '\'' && name[n-1] == '\'' {
		name = name[1 : n-1]
	}
	if name != "<unknown>" {
		e.Process = name
	}
	return message
}

func trimLeft(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	return s
}

// causedBy reads the root that newer drivers append to XID 45.
func causedBy(message string) int {
	const text = "caused by previous Xid "
	i := strings.LastIndex(message, text)
	if i < 0 {
		return 0
	}
	n, _, _ := cutInt(message[i+len(text):])
	return n
}

// wordedLink reads "… on link 14(0x0, …" and "… to train link 3 to remote …".
func wordedLink(message string) int {
	i := strings.LastIndex(message, "link ")
	if i < 0 {
		return Absent
	}
	n, _, ok := cutInt(message[i+len("link "):])
	if !ok {
		return Absent
	}
	return n
}
