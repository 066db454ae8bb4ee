package probe

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/sdjournal"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// messageMissed is SD_MESSAGE_JOURNAL_MISSED in sd-messages.h: journald could
// not keep up with the kernel.
const messageMissed = "e9bf28e6e834481bb6f48f548ad13606"

// Fields of the journal beside those that sdjournal names.
const (
	fieldUnitOf        = "UNIT" // whom systemd speaks of
	fieldKernelClock   = "_SOURCE_MONOTONIC_TIMESTAMP"
	fieldIdentifierPID = "SYSLOG_PID"
)

// managerPID is the process that alone may say what became of a unit.
const managerPID = "1"

// kataUnit runs the shim that copies a guest's console into the journal.
const kataUnit = "containerd.service"

// read makes an entry of what was found; false where it is none of ours. It
// asks for proof of all that the matches asked for: they are a filter, and a
// filter may grow.
func (c Config) read(e *sdjournal.JournalEntry) (journal.Entry, bool) {
	f := e.Fields
	unit := f[sdjournal.SD_JOURNAL_FIELD_SYSTEMD_UNIT]
	switch transport := f[sdjournal.SD_JOURNAL_FIELD_TRANSPORT]; {
	case transport == "kernel":
		return kernelEntry(e), true
	case transport == "driver" && f[sdjournal.SD_JOURNAL_FIELD_MESSAGE_ID] == messageMissed:
		return journal.Entry{Origin: journal.Kernel, Micros: e.MonotonicTimestamp, Missed: missed(f[sdjournal.SD_JOURNAL_FIELD_MESSAGE])}, true
	case f[sdjournal.SD_JOURNAL_FIELD_PID] == managerPID && c.hears(f[fieldUnitOf]):
		return journal.Entry{Origin: journal.Manager, Unit: f[fieldUnitOf], Micros: e.MonotonicTimestamp,
			MessageID: f[sdjournal.SD_JOURNAL_FIELD_MESSAGE_ID], Text: text(f)}, true
	case c.hears(unit):
		return journal.Entry{Origin: journal.Unit, Unit: unit, Micros: e.MonotonicTimestamp, Text: text(f)}, true
	case c.Kata && unit == kataUnit:
		line, ok := xidparse.CutKata(text(f))
		return journal.Entry{Origin: journal.Kata, Micros: e.MonotonicTimestamp, Text: bytes.Clone(line.Text)}, ok
	}
	return journal.Entry{}, false
}

func (c Config) hears(unit string) bool {
	for _, u := range c.Units {
		if u == unit {
			return true
		}
	}
	return false
}

// kernelEntry reads a record of the kernel's log so that it is the same, byte
// for byte, as /dev/kmsg has it. journald takes the identifier off what user
// space wrote: it is put back.
func kernelEntry(e *sdjournal.JournalEntry) journal.Entry {
	f := e.Fields
	line := xidparse.JournalLine(text(f), "kernel", f[sdjournal.SD_JOURNAL_FIELD_SYSLOG_FACILITY])
	entry := journal.Entry{Origin: journal.Kernel, Micros: e.MonotonicTimestamp, Userspace: !line.Kernel, Text: line.Text}
	if clock, err := strconv.ParseUint(f[fieldKernelClock], 10, 64); err == nil {
		entry.Micros = clock
	}
	if id := f[sdjournal.SD_JOURNAL_FIELD_SYSLOG_IDENTIFIER]; entry.Userspace && id != "" {
		if pid := f[fieldIdentifierPID]; pid != "" {
			id += "[" + pid + "]"
		}
		entry.Text = append([]byte(id+": "), entry.Text...)
	}
	return entry
}

// text is the message, cut to what is read of one.
func text(f map[string]string) []byte {
	message := f[sdjournal.SD_JOURNAL_FIELD_MESSAGE]
	return []byte(message[:min(len(message), journal.MaxText)])
}

// missed reads "Missed 12 kernel messages"; at least one was.
func missed(message string) uint64 {
	word, _, _ := strings.Cut(strings.TrimPrefix(message, "Missed "), " ")
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return 1
	}
	return max(n, 1)
}
