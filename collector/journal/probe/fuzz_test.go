package probe

import (
	"testing"

	"github.com/coreos/go-systemd/v22/sdjournal"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// Whatever a process writes into its own fields, only what journald says of it
// makes an entry a kernel's, a unit's or systemd's.
func FuzzRead(f *testing.F) {
	f.Add("kernel", "0", "kernel", "NVRM: Xid", "1", "", "", "")
	f.Add("driver", "", "", "Missed 18446744073709551616 kernel messages", "", messageMissed, "", "")
	f.Add("stdout", "3", "x", "[\x00", "1", "", fabric, fabric)
	cfg := Config{Kernel: true, Units: []string{fabric}, Kata: true}
	f.Fuzz(func(t *testing.T, transport, facility, identifier, message, pid, id, unit, of string) {
		e, ok := cfg.read(&sdjournal.JournalEntry{MonotonicTimestamp: 7, Fields: map[string]string{
			"_TRANSPORT": transport, "SYSLOG_FACILITY": facility, "SYSLOG_IDENTIFIER": identifier, "MESSAGE": message,
			"_PID": pid, "MESSAGE_ID": id, "_SYSTEMD_UNIT": unit, "UNIT": of, fieldKernelClock: facility}})
		if !ok {
			return
		}
		switch e.Origin {
		case journal.Kernel:
			if transport != "kernel" && (transport != "driver" || e.Missed == 0) {
				t.Errorf("a record of the kernel by transport %q: %+v", transport, e)
			}
			if transport == "kernel" && !e.Userspace && facility != "" && facility != "0" {
				t.Errorf("the kernel's own with facility %q", facility)
			}
		case journal.Unit:
			if unit != fabric {
				t.Errorf("a line of %q: %+v", unit, e)
			}
		case journal.Manager:
			if pid != managerPID || of != fabric {
				t.Errorf("systemd's word by process %q: %+v", pid, e)
			}
		case journal.Kata:
			if unit != kataUnit {
				t.Errorf("a guest's line of %q: %+v", unit, e)
			}
		}
		if len(e.Text) > journal.MaxText+len(identifier)+len(pid)+4 {
			t.Errorf("a text of %d bytes", len(e.Text))
		}
	})
}
