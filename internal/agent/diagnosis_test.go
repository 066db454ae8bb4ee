package agent

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// clinic diagnoses until it is called off, and says who holds the GPUs.
type clinic struct {
	held atomic.Pointer[[]remediate.Holder]
}

func (c *clinic) Occupancy(context.Context) remediate.Occupancy {
	o := remediate.Occupancy{At: time.Now()}
	if hs := c.held.Load(); hs != nil {
		o.Holders = *hs
	}
	return o
}

// Do takes 4 s to stop, as a real engine.
func (c *clinic) Do(ctx context.Context, d remediate.Deed, _ remediate.Owe) remediate.Outcome {
	<-ctx.Done()
	time.Sleep(4 * time.Second)
	o := diag.Outcome{Level: d.Level, Left: "the engine may be busy still"}
	out := remediate.Outcome{Result: remediate.Succeeded}
	for _, g := range d.GPUs {
		o.Add(g.UUID, diag.Aborted, "called off")
		out.Checked = append(out.Checked, remediate.Checked{GPU: g.UUID, Check: remediate.CheckAborted})
	}
	out.Report, _ = json.Marshal(o) // it has nothing that cannot be
	return out
}

func (*clinic) Undo(context.Context, remediate.Deed) error { return nil }

// diagnosing is a stage with a clinic.
func diagnosing(t *testing.T) (*stage, *clinic) {
	s, c := newStage(t), &clinic{}
	s.adjust = func(o *Options) {
		o.Policy = remediate.DefaultRepair()
		o.Policy.Diag.Mode = remediate.MeansCommand
		o.Occupant, o.Doers = c, map[remediate.StepKind]Doer{remediate.StepDiag: c}
	}
	s.start()
	s.polls(2)
	return s, c
}

// results are those that were counted of a verdict.
func (s *stage) results(v diag.Verdict) float64 {
	return testutil.ToFloat64(s.opts.Metrics.diagResults.WithLabelValues("2", string(v)))
}

// What was called off has a result at once, which is counted once; what comes of it
// later is added to that.
func TestADiagnosisThatIsCalledOffHasAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := diagnosing(t)
		defer s.stop()
		id, err := s.Diagnose(t.Context(), 2, []string{uuid(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lookEvery)
		c.held.Store(&[]remediate.Holder{{GPU: uuid(1), PID: 7, Process: "python3"}})
		for s.Status().Diagnosis.Answer == nil {
			time.Sleep(time.Second)
		}
		d := s.Status().Diagnosis
		if d.Answer.ID != id || d.Answered == nil || d.Last == nil || !strings.Contains(d.Answered.Table(), "python3") || d.Last.Left != "" {
			t.Errorf("answer %+v, last %+v", d.Answer, d.Last)
		}
		time.Sleep(time.Minute)
		d = s.Status().Diagnosis
		if d.Answered == nil || d.Last.Left == "" || !strings.Contains(d.Answered.Table(), "python3") {
			t.Errorf("its end: %+v", d.Last)
		}
		if n := s.results(diag.Aborted); n != 1 {
			t.Errorf("%v results are counted, want 1", n)
		}
	})
}

func TestADiagnosisThatNeverBeganHasAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := diagnosing(t)
		defer s.stop()
		c.held.Store(&[]remediate.Holder{{GPU: uuid(0), PID: 7, Process: "python3"}})
		if _, err := s.Diagnose(t.Context(), 2, []string{uuid(0), uuid(1)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		if d := s.Status().Diagnosis; d.Deed == nil || len(d.Deed.GPUs) != 1 {
			t.Errorf("the free GPU is not diagnosed: %+v", d.Deed)
		}
		if _, err := s.CancelDiagnosis(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CancelDiagnosis(t.Context()); err == nil {
			t.Error("there is nothing left to cancel")
		}
		d := s.Status().Diagnosis
		if d.Answered == nil || len(d.Answered.Findings) != 2 || !strings.Contains(d.Answered.Table(), "held by process 7 (python3)") {
			t.Errorf("answered %+v", d.Answered)
		}
		time.Sleep(time.Minute)
		if a, n := s.results(diag.Aborted), s.results(diag.NotRun); a != 1 || n != 1 {
			t.Errorf("%v aborted and %v not run are counted, want 1 and 1", a, n)
		}
	})
}
