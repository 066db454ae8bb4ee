package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// outboxLimit bounds the events that wait for an API server that is away; of
// more, the oldest are dropped.
const outboxLimit = 256

// Outbox gives the events that still have to be told, the oldest first.
func (p *Plan) Outbox() []Event { return slices.Clone(p.state.Outbox) }

// Told takes an event out of the outbox.
func (p *Plan) Told(key string) {
	p.state.Outbox = slices.DeleteFunc(p.state.Outbox, func(e Event) bool { return e.Key == key })
}

// tell puts an event into the outbox. One incident says the same only once, in
// its words of the moment.
func (p *Plan) tell(now time.Time, v fault.Verdict, kind, reason, message string) {
	e := Event{Key: v.ID + "/" + reason, Type: kind, Reason: reason, Message: message}
	if reason == "VerdictChanged" {
		e.Key += "/" + v.Action.String()
	}
	p.announce(now, e)
}

// Refused tells, once a day, that the API server does not let the agent do what
// the plan wants.
func (p *Plan) Refused(now time.Time, why string) {
	day := now.UTC().Format(time.DateOnly)
	if p.refused == day {
		return
	}
	p.refused = day
	p.announce(now, Event{Key: "refused/" + day, Type: "Warning", Reason: "NodeWriteForbidden", Message: why})
}

// turned tells a turn that may come again: its minute is in the key, since the
// API keeps events for an hour and takes none of the same name meanwhile. Of
// those that wait only the newest is told.
func (p *Plan) turned(now time.Time, e Event) {
	e.Key = e.Reason + "/" + now.UTC().Format("2006-01-02T15:04Z")
	p.state.Outbox = slices.DeleteFunc(p.state.Outbox, func(o Event) bool { return o.Reason == e.Reason })
	p.announce(now, e)
}

// each tells what may come several times within a minute, and has to be told each
// time.
func (p *Plan) each(now time.Time, e Event) {
	e.Key = e.Reason + "/" + now.UTC().Format(time.RFC3339Nano)
	p.announce(now, e)
}

// announce puts any event into the outbox.
func (p *Plan) announce(now time.Time, e Event) {
	e.At = now
	for n := range p.state.Outbox {
		if p.state.Outbox[n].Key == e.Key {
			p.state.Outbox[n] = e
			return
		}
	}
	p.state.Outbox = append(p.state.Outbox, e)
	if n := len(p.state.Outbox); n > outboxLimit {
		p.state.Outbox = slices.Delete(p.state.Outbox, 0, n-outboxLimit)
	}
}

// opened tells a new fault, once. Where it is a program's own the node is healthy.
func (p *Plan) opened(now time.Time, v fault.Verdict) {
	kind, reason := "Warning", "FaultDetected"
	if !v.Hardware {
		kind, reason = "Normal", "ApplicationFault"
	}
	p.tell(now, v, kind, reason, told(v))
}

func told(v fault.Verdict) string {
	where := "node"
	if len(v.GPUs) > 0 {
		names := make([]string, len(v.GPUs))
		for i, g := range v.GPUs {
			names[i] = g.String()
		}
		where = strings.Join(names, ", ")
	}
	what := string(v.Class)
	if len(v.Workloads) > 0 {
		what += " of " + workloads(v.Workloads)
	}
	return fmt.Sprintf("%s on %s: radius %s, action %s: %s (incident %s)", what, where, v.Radius, v.Action, v.Reason, v.ID)
}

func quarantineText(v fault.Verdict, owner Owner) string {
	if owner == OwnerAdministrator {
		return fmt.Sprintf("tainted for %s (incident %s); the cordon was there before and stays an administrator's", v.Class, v.ID)
	}
	return fmt.Sprintf("cordoned and tainted for %s (incident %s)", v.Class, v.ID)
}

func requestReason(k StepKind) string { return camel(string(k)) + "Requested" }

func requestText(k StepKind, v fault.Verdict) string {
	when := "now"
	if v.Drain == fault.DrainWhenIdle {
		when = "when idle"
	}
	switch k {
	case StepDiag:
		return fmt.Sprintf("DCGM diagnostics level %d requested, %s, for %s (incident %s)", v.Diag, when, v.Class, v.ID)
	case StepRestart:
		return fmt.Sprintf("restart of %s requested, for %s (incident %s)", workloads(v.Workloads), v.Class, v.ID)
	}
	return fmt.Sprintf("%s requested, %s, for %s (incident %s)", k, when, v.Class, v.ID)
}
