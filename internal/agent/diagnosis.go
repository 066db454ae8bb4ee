package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// DiagnosisStatus is how far the diagnosis is that is under way, what is asked for,
// and what the last one said.
type DiagnosisStatus struct {
	// Deed is under way; nil for none.
	Deed *remediate.Deed `json:"deed,omitempty"`
	// Progress is what was told last of it.
	Progress dcgmi.Progress `json:"progress,omitzero"`
	// Held is what guards hold of the schedule.
	Held []remediate.HeldAction `json:"held,omitempty"`
	// Asking is asked for and has not ended, Waits what it waits for before it begins;
	// Answer is what came of the last.
	Asking *remediate.Asking  `json:"asking,omitempty"`
	Waits  *remediate.Waiting `json:"waits,omitempty"`
	Answer *remediate.Answer  `json:"answer,omitempty"`
	// Answered is the diagnosis behind Answer, where it was run since the start.
	Answered *diag.Outcome `json:"answered,omitempty"`
	// Last is the last diagnosis that was run since the start, whoever wanted it.
	Last *diag.Outcome `json:"last,omitempty"`
}

// progress is how far the diagnosis of a deed is. It is no fact of the core's.
type progress struct {
	deed string
	dcgmi.Progress
	// told and logged are when it was.
	told, logged time.Time
}

// logEvery is how often the log has the progress of one diagnosis, beside each turn
// that it takes.
const logEvery = time.Minute

// wanted is a person's wish for a diagnosis, or for no more of the one that is asked
// for, and where its answer goes.
type wanted struct {
	level  int
	uuids  []string
	cancel bool
	answer chan<- wish
}

// wish is the ID of what was asked for, or why it is not.
type wish struct {
	id  string
	err error
}

func (wanted) isMessage() {}

// Diagnose asks for a diagnosis by hand, of all GPUs where none is named, and gives
// the ID under which the status tells its answer.
func (a *Agent) Diagnose(ctx context.Context, level int, uuids []string) (id string, err error) {
	return a.wish(ctx, wanted{level: level, uuids: uuids})
}

// CancelDiagnosis takes back the diagnosis that is asked for, by whomever, and gives
// its ID. The error says that there is none.
func (a *Agent) CancelDiagnosis(ctx context.Context) (id string, err error) {
	return a.wish(ctx, wanted{cancel: true})
}

func (a *Agent) wish(ctx context.Context, m wanted) (id string, err error) {
	answer := make(chan wish, 1)
	m.answer = answer
	a.core.tell(ctx, m)
	select {
	case w := <-answer:
		return w.id, w.err
	case <-ctx.Done():
		return "", fmt.Errorf("ask for a diagnosis: %w", context.Cause(ctx))
	}
}

// Diagnosing takes in how far a diagnosis is.
func (a *Agent) Diagnosing(deed string, p dcgmi.Progress) {
	next := &progress{deed: deed, Progress: p, told: time.Now()}
	if had := a.core.progress.Load(); had != nil && had.deed == deed && had.Waiting == p.Waiting && next.told.Sub(had.logged) < logEvery {
		next.logged = had.logged
	} else {
		next.logged = next.told
		a.log.Info("diagnosing", "deed", deed, "waits", p.Waiting, "for", p.Elapsed.Round(time.Second).String(), "atMost", p.AtMost.String(), "expected", p.Expected.String())
	}
	a.core.progress.Store(next)
}

// want asks the plan for what a person wants, and gives the reply that is theirs once
// that is on disk and in the status.
func (c *core) want(now time.Time, m wanted) (reply func()) {
	var id string
	var err error
	if m.cancel {
		id, err = c.plan.Cancel(now)
	} else {
		id, err = c.plan.Diagnose(now, remediate.ByHand, m.level, m.uuids)
	}
	return func() { m.answer <- wish{id, err} }
}

// diagnosed keeps what a diagnosis said. deed was under way when it ended.
func (c *core) diagnosed(now time.Time, deed *remediate.Deed, o remediate.Outcome) {
	if len(o.Report) == 0 {
		return
	}
	last := &diag.Outcome{}
	if err := json.Unmarshal(o.Report, last); err != nil {
		c.log.Error("the report of a diagnosis cannot be read", "deed", o.Deed, "error", err)
		return
	}
	a := c.plan.Answer()
	served := a != nil && o.Deed != "" && a.Deed == o.Deed
	if served {
		for _, n := range a.NotRun {
			last.Add(n.GPU, diag.NotRun, n.Why)
		}
	}
	if c.toldOf != "" && c.toldOf == o.Deed { // called off, and counted: this is how that ended
		c.calledOff(last)
	} else {
		c.count(o.Deed, last)
	}
	if served {
		c.diagnosis.Answered, c.answeredBy = last, a.ID
	}
	if deed != nil && deed.ID == o.Deed {
		c.suspected(now, deed, *last)
	}
}

// count keeps a diagnosis as the last, logs what it says of each GPU and counts that.
func (c *core) count(deed string, last *diag.Outcome) {
	c.diagnosis.Last, c.toldOf = last, ""
	for _, f := range last.Findings {
		c.metrics.diagnosed(last.Level, f.Verdict)
		c.log.Info("diagnosed", "deed", deed, "gpu", f.GPU, "level", last.Level, "verdict", f.Verdict, "reasons", f.Reasons)
	}
	if last.Took > 0 {
		c.metrics.diagSeconds.Observe(last.Took.Seconds())
	}
}

// calledOff takes in the report of a diagnosis that was called off before: why, the
// plan has said.
func (c *core) calledOff(last *diag.Outcome) {
	for n := range last.Findings {
		if f := &last.Findings[n]; f.Verdict == diag.Aborted && n < len(c.diagnosis.Last.Findings) {
			f.Reasons = c.diagnosis.Last.Findings[n].Reasons
		}
	}
	c.diagnosis.Last, c.toldOf = last, ""
}

// unreported takes in the diagnoses that have ended without a report.
func (c *core) unreported(now time.Time) {
	for _, u := range c.plan.Unreported() {
		o := &diag.Outcome{Level: u.Level, Began: u.Began, Took: now.Sub(u.Began)}
		for _, g := range u.GPUs {
			o.Add(g.UUID, diag.Verdict(u.Check), u.Why)
		}
		if a := c.plan.Answer(); u.Asked != "" && a != nil && a.ID == u.Asked {
			for _, n := range a.NotRun {
				o.Add(n.GPU, diag.NotRun, n.Why)
			}
		}
		c.count(u.Deed, o)
		c.toldOf = u.Deed
		if u.Asked != "" {
			c.diagnosis.Answered, c.answeredBy = o, u.Asked
		}
	}
}

// suspected tells the judge of the GPUs that have failed a diagnosis which was not
// for an incident of theirs: of the others the plan draws the conclusions.
func (c *core) suspected(now time.Time, deed *remediate.Deed, o diag.Outcome) {
	for _, f := range o.Findings {
		at := slices.IndexFunc(c.sources.GPUs, func(g fault.Device) bool { return g.UUID == f.GPU })
		if f.Verdict != diag.Failed || at < 0 {
			continue
		}
		served := slices.ContainsFunc(c.plan.Incidents(), func(i remediate.Incident) bool {
			own := func(d fault.Device) bool { return d.PCI == c.sources.GPUs[at].PCI }
			return slices.Contains(deed.Incidents, i.Verdict.ID) && slices.ContainsFunc(i.Verdict.GPUs, own)
		})
		if !served {
			c.step(now, fault.Diagnosed{GPU: c.sources.GPUs[at]})
		}
	}
}

// showDiagnosis is the part of the status.
func (c *core) showDiagnosis() DiagnosisStatus {
	s := c.diagnosis
	s.Asking, s.Answer, s.Held = c.plan.Asking(), c.plan.Answer(), c.plan.ClockHeld()
	s.Waits = c.plan.AskingWaits(time.Now())
	if s.Answer == nil || s.Answer.ID != c.answeredBy {
		s.Answered = nil
	}
	if d := c.plan.Deed(); d != nil && d.Kind == remediate.StepDiag {
		s.Deed = d
	}
	return s
}

// progressing adds the present to a status.
func (c *core) progressing(s *DiagnosisStatus) {
	if p := c.progress.Load(); p != nil && s.Deed != nil && p.deed == s.Deed.ID {
		s.Progress = p.Progress
		s.Progress.Elapsed += time.Since(p.told)
	}
}
