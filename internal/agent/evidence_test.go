package agent

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// bundle reads an incident's evidence once all is written.
func (s *stage) bundle(id string) evidence.Bundle {
	s.t.Helper()
	time.Sleep(tickEvery + headStart)
	synctest.Wait()
	text, err := os.ReadFile(s.archive.Path(id))
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := evidence.Read(id, bytes.NewReader(text))
	if err != nil || len(b.Damage) > 0 {
		s.t.Fatalf("%v, damage %q", err, b.Damage)
	}
	return b
}

func texts(b evidence.Bundle) (lines []string) {
	for _, p := range b.Of(evidence.KindLine) {
		lines = append(lines, p.Line.Text)
	}
	return lines
}

// An incident leaves its lines with their neighbours, samples from before and
// after, every verdict, the steps, the events, and what the node was.
func TestAnIncidentLeavesEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		for i := range 40 {
			s.log.say(fmt.Sprintf("usb 1-1: device number %d", i))
		}
		s.polls(4)
		s.hear("pcieport 0000:3a:00.0: AER: Correctable error", xid(2, uncontained), xid(2, resetAsked))
		s.hear("eth0: link is up")
		s.polls(1, wants(2, 1))
		s.hear(xid(2, nothingMore))
		s.polls(4)
		b := s.bundle("11111111-41")

		lines := texts(b)
		before := slices.Index(lines, "pcieport 0000:3a:00.0: AER: Correctable error")
		if before != linesBefore-1 || !slices.Contains(lines, xid(2, uncontained)) || !slices.Contains(lines, "eth0: link is up") || !slices.Contains(lines, xid(2, nothingMore)) {
			t.Errorf("%d lines: %q", len(lines), lines)
		}
		opened := b.Of(evidence.KindVerdict)[0]
		samples := b.Of(evidence.KindSample)
		after := slices.IndexFunc(samples, func(p evidence.Piece) bool { return p.At.After(opened.At) })
		if after != samplesBefore || len(samples) < samplesBefore+2 {
			t.Errorf("%d samples, the first after the opening is number %d", len(samples), after)
		}
		for _, p := range samples {
			if len(p.Sample.GPUs) != 1 || p.Sample.GPUs[0].UUID != uuid(2) {
				t.Errorf("a sample of %+v", p.Sample.GPUs)
			}
		}
		verdicts := b.Of(evidence.KindVerdict)
		if last := verdicts[len(verdicts)-1].Verdict; len(verdicts) < 2 || !last.Closed || last.Reason == "" {
			t.Errorf("%d verdicts, the last %+v", len(verdicts), last)
		}
		progress := b.Of(evidence.KindProgress)
		if last := progress[len(progress)-1].Progress; last.State != remediate.Probation || last.Steps[0].Status != remediate.Done {
			t.Errorf("the plan is last at %+v", last)
		}
		for _, reason := range []string{"FaultDetected", "NodeQuarantined", "ResetRequested", "ProbationStarted"} {
			if !slices.ContainsFunc(b.Of(evidence.KindEvent), func(p evidence.Piece) bool { return p.Event.Reason == reason }) {
				t.Errorf("no event %s", reason)
			}
		}
		node := b.Of(evidence.KindNode)[0].Node
		if node.Agent != "test" || node.Name != "node-1" || node.Boot != "11111111-boot" || node.Driver != "570.195.03" || len(node.GPUs) != gpus || node.GPUs[2].Slot != "7" {
			t.Errorf("the node was %+v", node)
		}
		if len(b.Of(evidence.KindEnd)) > 0 {
			t.Error("it has ended already")
		}
		time.Sleep(probation)
		if b := s.bundle("11111111-41"); len(b.Of(evidence.KindEnd)) != 1 || b.Summary().Ended.IsZero() {
			t.Errorf("it has no end: %+v", b.Summary())
		}
		s.stop()
	})
}

// A flood leaves a bounded number of lines, and says how many are missing.
func TestAFloodIsNotCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		for i := range 2000 {
			s.log.say(xid(2, fmt.Sprintf("95, pid=%d, name=python3, Uncontained: FBHUB. RST: Yes, D-RST: No", i)))
		}
		synctest.Wait()
		if n := len(texts(s.bundle("11111111-0"))); n < lineBurst-2 || n > lineBurst+2 {
			t.Errorf("%d lines", n)
		}
		s.hear(xid(2, resetAsked))
		s.hear(xid(2, nothingMore))
		s.polls(5)
		time.Sleep(probation)
		missing := s.bundle("11111111-0").Of(evidence.KindMissing)
		if len(missing) != 1 {
			t.Fatalf("missing: %+v", missing)
		}
		if missing[0].Missing.Pieces < 1700 || !strings.Contains(missing[0].Missing.Why, "flood") {
			t.Errorf("%d missing: %+v", len(missing), missing[0].Missing)
		}
		s.stop()
	})
}

// hanging is an archive whose disk does not come back before it is let go.
type hanging struct {
	Archive
	free chan struct{}
}

func (h hanging) Append(id string, pieces []evidence.Piece) error {
	<-h.free
	return h.Archive.Append(id, pieces)
}

// A disk that hangs holds up nothing: containment goes on, also for a fault that
// comes while it hangs, and the agent ends in time. When it is back, all is
// written.
func TestADiskThatHangsDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		disk := hanging{s.archive, make(chan struct{})}
		s.archive = disk
		s.start()
		s.polls(1)
		began := time.Now()
		s.log.say(xid(2, uncontained), xid(2, resetAsked))
		synctest.Wait()
		if !s.world.cordoned() || time.Since(began) > 0 {
			t.Errorf("cordoned %v after %v", s.world.cordoned(), time.Since(began))
		}
		time.Sleep(diskLimit + time.Second)
		s.hear(xid(5, "79, pid=1, GPU has fallen off the bus."))
		if got := s.Status(); got.Node.Note.Fault != "xid-79" || !strings.Contains(got.Evidence, "has not come back") || s.Alive() != nil {
			t.Errorf("fault %s, evidence %q, alive %v", got.Node.Note.Fault, got.Evidence, s.Alive())
		}
		close(disk.free)
		time.Sleep(lastPause)
		b, c := s.bundle("11111111-0"), s.bundle("11111111-2")
		if !slices.Contains(texts(b), xid(2, uncontained)) || len(texts(c)) != 3 || s.Status().Evidence != "" {
			t.Errorf("lines %q and %q, trouble %q", texts(b), texts(c), s.Status().Evidence)
		}
		s.stop()
	})
}

// An agent that ends leaves a disk that hangs behind.
func TestTheEndDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		disk := hanging{s.archive, make(chan struct{})}
		s.archive = disk
		s.start()
		s.hear(xid(2, uncontained))
		began := time.Now()
		s.stop()
		if took := time.Since(began); took > lastWrite {
			t.Errorf("it took %v", took)
		}
		close(disk.free)
	})
}

// failingArchive refuses until it is told otherwise.
type failingArchive struct {
	Archive
	err error
}

func (f *failingArchive) Append(id string, pieces []evidence.Piece) error {
	if f.err != nil {
		return f.err
	}
	return f.Archive.Append(id, pieces)
}

// What a disk has refused is missing, and the bundle says so.
func TestADiskThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		disk := &failingArchive{s.archive, errAway}
		s.archive = disk
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		if got := s.Status().Evidence; got != errAway.Error() || !s.world.cordoned() {
			t.Errorf("evidence %q, cordoned %v", got, s.world.cordoned())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		disk.err = nil
		s.hear(xid(2, nothingMore))
		missing := s.bundle("11111111-0").Of(evidence.KindMissing)
		if len(missing) != 1 || missing[0].Missing.Pieces < 5 || missing[0].Missing.Why != errAway.Error() || s.Status().Evidence != "" {
			t.Errorf("missing %+v, trouble %q", missing, s.Status().Evidence)
		}
		s.stop()
	})
}

// What the agent itself does is in the bundles of the incidents that it serves,
// with how it ended, and what another deed's end says is not.
func TestDeedsAreEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		s.stop()
		now := time.Now()
		d := &remediate.Deed{ID: "reset-1", Kind: remediate.StepReset, Incidents: []string{"11111111-0", "another"}}
		w := s.core.witness
		w.deed(now, d)
		w.deed(now, d)
		w.outcome(now, d, remediate.Outcome{Deed: "reset-0", Result: remediate.Succeeded})
		w.outcome(now, d, remediate.Outcome{Deed: "reset-1", Result: remediate.Refused, Holders: []remediate.Holder{{PID: 7, Process: "python3"}}})
		w.keep.end()
		b := s.bundle("11111111-0")
		if deeds := b.Of(evidence.KindDeed); len(deeds) != 1 || deeds[0].Deed.ID != "reset-1" {
			t.Errorf("deeds %+v", deeds)
		}
		if o := b.Of(evidence.KindOutcome); len(o) != 1 || o[0].Outcome.Result != remediate.Refused || o[0].Outcome.Holders[0].PID != 7 {
			t.Errorf("outcomes %+v", o)
		}
		if _, err := os.Stat(s.archive.Path("another")); err == nil {
			t.Error("an incident that is not open has a bundle")
		}
	})
}

// Memory that is past its threshold asks for another board, with all that is needed to order and
// find it; the bundle of the agent before goes on.
func TestAReplacementIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := func(g *nvml.GPU) {
			if g.Index == 2 {
				past := true
				g.Serial, g.Part, g.ECC.Threshold = "1650923", "692-2G520", &past
			}
		}
		s := newStage(t)
		s.start()
		s.polls(4, board)
		s.stop()
		s.start()
		s.polls(1, board)
		got := s.Status().Replacements
		if len(got) != 1 || len(got[0].GPUs) != 1 || got[0].Reason == "" || got[0].Bundle != s.archive.Path(got[0].Incident) {
			t.Fatalf("asked for: %+v", got)
		}
		if g := got[0].GPUs[0]; g.UUID != uuid(2) || g.Serial != "1650923" || g.Part != "692-2G520" || g.Slot != "7" {
			t.Errorf("the board is %+v", g)
		}
		b := s.bundle(got[0].Incident)
		if b.Summary().Replacement == nil || len(b.Of(evidence.KindNode)) != 2 {
			t.Errorf("replacement %+v; %d agents", b.Summary().Replacement, len(b.Of(evidence.KindNode)))
		}
		s.stop()
	})
}
