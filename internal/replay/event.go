package replay

import (
	"encoding/json"
	"strconv"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// appendEvent appends an event as replay's JSON has it; docs/replay.md is its
// contract. A flood is one such line after another, so it is put together by
// hand, in a third of the time that reflection takes.
func appendEvent(b []byte, f Finding) []byte {
	b = append(b, `{"type":"event"`...)
	if f.File != "" {
		b = appendText(b, "file", f.File)
	}
	b = appendNumber(b, "line", f.Line, -1)
	b = appendOptional(b, "time", f.Time.String())
	ev, kind := f.Event, f.Event.Kind.String()
	if f.Gap {
		kind = "gap"
		ev = xidparse.Event{GPUInstance: xidparse.Absent, ComputeInstance: xidparse.Absent, Link: xidparse.Absent, Message: f.Text}
	}
	pci := ""
	if ev.HasPCI {
		pci = ev.PCI.String()
	}
	b = appendText(b, "kind", kind)
	none := 0
	if ev.Kind == xidparse.KindXID || ev.Kind == xidparse.KindSXID {
		none = xidparse.Absent // 0 is a code that a line can have
	}
	b = appendNumber(b, "xid", ev.Code, none)
	b = appendOptional(b, "pci", pci)
	b = appendNumber(b, "gpu_instance", ev.GPUInstance, xidparse.Absent)
	b = appendNumber(b, "compute_instance", ev.ComputeInstance, xidparse.Absent)
	b = appendNumber(b, "pid", ev.PID, 0)
	b = appendText(b, "process", ev.Process)
	b = appendNumber(b, "link", ev.Link, xidparse.Absent)
	b = appendNumber(b, "caused_by", ev.CausedBy, 0)
	switch {
	case f.Gap && f.Missing == 0:
		b = append(appendName(b, "missing"), "null"...)
	case f.Gap:
		b = strconv.AppendUint(appendName(b, "missing"), f.Missing, 10)
	}
	b = appendText(b, "message", ev.Message)
	return append(b, '}', '\n')
}

func appendName(b []byte, name string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// appendNumber writes null for the value that stands for nothing.
func appendNumber(b []byte, name string, v, absent int) []byte {
	b = appendName(b, name)
	if v == absent {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(v), 10)
}

// appendOptional writes null for an empty text.
func appendOptional(b []byte, name, text string) []byte {
	if text == "" {
		return append(appendName(b, name), "null"...)
	}
	return appendText(b, name, text)
}

func appendText(b []byte, name, text string) []byte {
	b = appendName(b, name)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a string always can
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
