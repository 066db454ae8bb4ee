package replay

import (
	"bytes"
	"fmt"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

// bootName stands for the first boot's id, which a log does not have; later
// boots are numbered from 2.
const bootName = "replay"

// The kernel's first line, and its last before it boots the machine anew.
var (
	firstLine = []byte("Linux version ")
	lastLine  = []byte("reboot: Restarting system")
)

// boots says whether a message ends one boot and begins the next. The kernel
// prints its version at its own time zero; a log with a calendar's times, or
// none, does not say when that is.
func boots(m logfile.Message) bool {
	if !m.Kernel {
		return false
	}
	if bytes.HasPrefix(m.Text, firstLine) {
		t := m.Time()
		return t.Clock != xidparse.ClockBoot || t.Since == 0
	}
	return bytes.HasPrefix(m.Text, lastLine)
}

// booted tells the judge of another boot, which cures what a boot cures. Before
// the driver's first event there is nothing to tell.
func (r *Replay) booted(m logfile.Message, f Finding) error {
	if r.outcome.Events == r.bootEvents {
		return nil
	}
	r.bootEvents = r.outcome.Events
	r.boots++
	r.stuck = xidparse.Stuck{}
	f.Time, f.Text, f.Booted = m.Time(), string(m.Text), true
	r.clock.pass(f.Time)
	id := fmt.Sprintf("%s%d", bootName, r.boots+1)
	f.Changes = r.changes(r.judge.Step(r.clock.now, fault.Observation{Fact: fault.Boot{ID: id}}))
	return r.out.Finding(f)
}
