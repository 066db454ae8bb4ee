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

// wanted is a person's wish for a diagnosis, and where its answer goes.
type wanted struct {
	level  int
	uuids  []string
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
	answer := make(chan wish, 1)
	a.core.tell(ctx, wanted{level, uuids, answer})
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
	id, err := c.plan.Diagnose(now, remediate.ByHand, m.level, m.uuids)
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
	c.diagnosis.Last = last
	if a := c.plan.Answer(); a != nil && a.Deed == o.Deed {
		c.diagnosis.Answered, c.answeredBy = last, o.Deed
	}
	for _, f := range last.Findings {
		c.metrics.diagnosed(last.Level, f.Verdict)
		c.log.Info("diagnosed", "deed", o.Deed, "gpu", f.GPU, "level", last.Level, "verdict", f.Verdict, "reasons", f.Reasons)
	}
	if deed != nil && deed.ID == o.Deed {
		c.suspected(now, deed, *last)
	}
	c.metrics.diagSeconds.Observe(last.Took.Seconds())
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
	if s.Answer == nil || s.Answer.Deed != c.answeredBy {
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
