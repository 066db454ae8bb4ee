package remediate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// consider asks for the diagnosis that is due by the clock, and gives up what
// could not be begun in time: all of it, or the GPUs that are not free where others are.
func (p *Plan) consider(now time.Time) {
	p.onSchedule(now)
	a := p.state.Asking
	if a == nil || a.Deed != "" || now.Before(a.Until) {
		return
	}
	if p.state.Deed == nil && p.sources.Store == "" && !p.urgent(now) && !p.imminent(now) && p.narrowAsking(now) {
		return
	}
	p.answerWith(now, Answer{Check: CheckNotRun, Text: p.askingFor(now)})
}

// narrowAsking leaves to what is asked for the GPUs that are free, and says whether
// those are some and not all. What becomes of the others is known by that.
func (p *Plan) narrowAsking(now time.Time) bool {
	a := p.state.Asking
	var free []fault.Device
	var held []Checked
	for _, d := range a.GPUs {
		if p.freeToDiagnose(now, []fault.Device{d}, a.At) {
			free = append(free, d)
		} else {
			held = append(held, Checked{GPU: p.uuid(d), Check: CheckNotRun, Why: cmp.Or(p.heldAs(d), p.heldBy(nil))})
		}
	}
	if len(free) == 0 || len(held) == 0 {
		return false
	}
	p.each(now, Event{Type: "Warning", Reason: "DiagNotRun", Message: "no diagnosis of all that was asked for: " + p.whoHolds(a.GPUs)})
	a.GPUs, a.NotRun = free, append(a.NotRun, held...)
	return true
}

// answer takes in how the diagnosis ended that serves what was asked for.
func (p *Plan) answer(now time.Time, d *Deed, o Outcome) {
	if !p.asked(d.ID) {
		return
	}
	check, _, why := o.Of(p.state.Asking.GPUs)
	if o.Result == Aborted {
		check = CheckAborted
	}
	if a := p.state.Asking; len(a.NotRun) > 0 && check.rank() < CheckNotRun.rank() {
		check, why = CheckNotRun, whys(a.NotRun)
	}
	p.answerWith(now, Answer{Check: check, Text: cmp.Or(why, o.Text), Checked: o.Checked})
}

func (p *Plan) answerWith(now time.Time, a Answer) {
	a.Asking, a.Ended = *p.state.Asking, now
	p.state.Asking, p.state.Answer = nil, &a
	if a.Deed == "" {
		p.each(now, Event{Type: "Warning", Reason: checkReason(a.Check), Message: fmt.Sprintf("no diagnosis of %s: %s", devices(a.GPUs), a.Text)})
		p.unreported(Unreported{Asked: a.ID, Level: a.Level, GPUs: a.GPUs, Began: now, Check: a.Check, Why: a.Text})
	}
}

// whys says why of GPUs, those together that have the same reason.
func whys(cs []Checked) string {
	var all []string
	for len(cs) > 0 {
		gpus := cs[0].GPU
		n := 1
		for ; n < len(cs) && cs[n].Why == cs[0].Why; n++ {
			gpus += ", " + cs[n].GPU
		}
		all = append(all, gpus+" "+cs[0].Why)
		cs = cs[n:]
	}
	return strings.Join(all, "; ")
}

// Cancel takes back the diagnosis that is asked for, and stops it where it serves
// nothing else. The error says that there is none.
func (p *Plan) Cancel(now time.Time) (id string, err error) {
	a := p.state.Asking
	if a == nil {
		return "", errors.New("no diagnosis is asked for")
	}
	const why = "cancelled by a person"
	if d := p.state.Deed; d != nil && a.Deed == d.ID && !slices.ContainsFunc(p.served(&d.Deed), (*Incident).wantsToKnow) {
		p.stopDiag(now, why, false)
	} else {
		p.answerWith(now, Answer{Check: CheckAborted, Text: why})
	}
	p.decide(now)
	return a.ID, nil
}
