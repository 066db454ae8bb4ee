package remediate

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// say tells of a deed, each thing once.
func (p *Plan) say(now time.Time, d *Deed, kind, reason, message string) {
	if len(d.Incidents) > 0 {
		message += fmt.Sprintf(" (incidents %s)", strings.Join(d.Incidents, ", "))
	}
	p.announce(now, Event{Key: d.ID + "/" + reason, Type: kind, Reason: reason, Message: message})
}

// Doubt tells what speaks against a deed's having worked, where that is seen only
// afterwards. What follows from it the judge says.
func (p *Plan) Doubt(now time.Time, d Deed, against string) {
	p.say(now, &d, "Warning", camel(string(d.Kind))+"Doubtful", fmt.Sprintf("%s of %s has not done all that it should: %s", d.Kind, d.where(), against))
}

// startReason names the event of a deed's beginning.
func startReason(k StepKind) string { return camel(string(k)) + "Started" }

// where names the GPUs of a deed, or the pods.
func (d *Deed) where() string {
	switch {
	case d.Whole:
		return "the whole node"
	case len(d.Workloads) > 0:
		return workloads(d.Workloads)
	case len(d.GPUs) == 0:
		return "the node"
	}
	return devices(d.GPUs)
}

// devices names GPUs.
func devices(ds []fault.Device) string {
	ns := make([]string, len(ds))
	for n, d := range ds {
		ns[n] = d.String()
	}
	return strings.Join(ns, ", ")
}

// workloads names pods.
func workloads(ws []fault.Workload) string {
	ns := make([]string, len(ws))
	for n, w := range ws {
		ns[n] = w.Name
	}
	return strings.Join(ns, ", ")
}

func drainText(d *Deed) string {
	if d.Force {
		return "drain of " + d.where() + " begun again, with force"
	}
	return "drain of " + d.where() + " begun"
}

func overdueText(d *Deed, o Outcome, at AtDeadline) string {
	then := "tried again later"
	switch {
	case at == Force && !d.Force:
		then = "what could not be evicted is deleted now"
	case d.Force && d.Whole:
		then = "the reboot waits for nobody any more"
	case d.Force:
		then = "a reset is not tried"
	}
	return strings.TrimSuffix("drain of "+d.where()+" is overdue; "+then+": "+o.inTheWay(), ": ")
}

// inTheWay says why a deed has not worked, and who holds the GPUs.
func (o Outcome) inTheWay() string {
	if len(o.Holders) == 0 {
		return o.Text
	}
	return strings.TrimPrefix(o.Text+"; held by "+names(o.Holders), "; ")
}

// named names the holders of an outcome.
func named(o Outcome) string {
	if len(o.Holders) == 0 {
		return "somebody (" + o.Text + ")"
	}
	return names(o.Holders)
}

// blockedText says who is in the way of a repair that has waited long enough.
func blockedText(i *Incident, why string) string {
	return fmt.Sprintf("the repair for %s waits: %s (incident %s)", i.Verdict.Class, why, i.Verdict.ID)
}
