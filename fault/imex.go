package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// IMEX is what somebody sees of IMEX on this node, by which trays of a rack lend each
// other memory. What is nil or zero, nobody has seen.
type IMEX struct {
	// Witness is who sees it where that is not the agent: DCGM.
	Witness string
	// Runs says whether its daemon is among the processes, the host's or a pod's.
	Runs *bool
	// State is what the daemon answers when it is asked.
	State nvlink.IMEXState
	// Users are how many processes have a channel of it open.
	Users *int
}

func (IMEX) isFact() {}

// imexLimit is how many looks in a row must find IMEX out of order, while it is
// used: a daemon may just be replaced.
const imexLimit = 2

// imex is what the judge knows of IMEX. Exported fields are its saved form.
type imex struct {
	// Dead says that systemd called it failed, and it was not started again.
	Dead bool `json:",omitempty"`
	// Ran says that its daemon was seen among the processes, in this boot.
	Ran bool `json:",omitempty"`

	// bad and badByDCGM count the looks in a row that found it out of order; why is
	// what the last one of ours found.
	bad, badByDCGM int
	why            string
	// users is how many processes use it, nil when not known; used is when somebody
	// did last.
	users *int
	used  time.Time
}

// imexService takes in what systemd says of IMEX. Whether its end is a fault, polls
// decide.
func (j *Judge) imexService(now time.Time, ev services.Event) {
	switch ev.Kind {
	case services.KindFailed:
		j.imex.Dead = true
	case services.KindStarted:
		j.imexBack(now)
	case services.KindNone, services.KindMismatch, services.KindNoSwitch, services.KindTrouble:
	}
}

// imexBack takes in that IMEX runs again.
func (j *Judge) imexBack(now time.Time) {
	j.imex.Dead, j.imex.bad = false, 0
	if e := j.open[key{class: IMEXDown}]; e != nil && e.Cured.IsZero() {
		e.Cured = now
	}
}

// imexSeen takes in a look. A daemon that was never seen may be another node's
// matter; one that cannot be asked is unknown.
func (j *Judge) imexSeen(now time.Time, m IMEX) {
	if m.Witness != "" {
		j.imex.badByDCGM = inARow(j.imex.badByDCGM, m.State == nvlink.IMEXNotReady)
		return
	}
	i := &j.imex
	i.users = m.Users
	gone := m.Runs != nil && !*m.Runs && i.Ran
	i.why = "its daemon answers that it is not ready"
	if gone {
		i.why = "no nvidia-imex among the processes"
	}
	bad := gone || m.State == nvlink.IMEXNotReady
	i.bad = inARow(i.bad, bad)
	if m.Runs != nil && *m.Runs {
		i.Ran = true
		if !bad {
			j.imexBack(now)
		}
	}
}

func inARow(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

// Lends says whether IMEX may be in use here: in a rack, by programs on a GPU that is
// complete in its fabric.
func (j *Judge) Lends() bool {
	if !j.shape().MultiNode() {
		return false
	}
	for pci, d := range j.devices {
		if d.State != nil && d.State.Processes != nil && *d.State.Processes > 0 && completed(j.fabricOf(pci)) {
			return true
		}
	}
	return false
}

// lending judges an IMEX that is out of order. It is missed only in a rack, and only
// while programs use the domain: an idle tray may be without for weeks, and what is
// not used any more is no fault. DCGM's word alone is an opinion.
func (j *Judge) lending(now time.Time) {
	i, e := &j.imex, j.open[key{class: IMEXDown}]
	if used := j.Lends() && (i.users == nil || *i.users > 0); !used {
		if e != nil && e.Cured.IsZero() && now.Sub(i.used) >= steadyFor {
			e.Cured = now
		}
		return
	}
	i.used = now
	switch opinion := (Opinion{Witness: "DCGM", Class: IMEXDown, Text: "IMEX is not ready"}); {
	case i.bad >= imexLimit:
		j.shown(now, xidparse.PCI{}, IMEXDown).Detail = []string{i.why}
	case i.Dead:
		j.shown(now, xidparse.PCI{}, IMEXDown).Detail = []string{"systemd says that it has failed"}
	case i.badByDCGM >= imexLimit:
		opinion.Holds = true
		j.opinion(now, opinion)
	case e != nil && e.Witness != "" && !e.Confirmed:
		j.opinion(now, opinion)
	}
}
