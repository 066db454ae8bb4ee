package agent

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A restart in order: nothing is told or done again, and the log is read on
// behind the last line.
func TestRestartRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear(xid(2, uncontained), xid(2, resetAsked))
		before, position := s.outcome(), s.core.memory.mark
		count := s.Status().Incidents[0].Verdict.Count
		s.stop()
		for range 3 {
			s.start()
			if s.core.memory.mark != position {
				t.Errorf("reads on from %v, want %v", s.core.memory.mark, position)
			}
			s.polls(2, wants(2, 1))
			s.stop()
		}
		if diff := cmp.Diff(before, s.outcome()); diff != "" {
			t.Errorf("after restarts (-before +after):\n%s", diff)
		}
		if got := s.Status().Incidents[0].Verdict.Count; got != count {
			t.Errorf("%d lines counted, want %d", got, count)
		}
	})
}

// Lines that came while no agent ran are judged by the next.
func TestLinesWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.stop()
		s.log.say(xid(2, uncontained), xid(2, resetAsked))
		s.start()
		if !s.world.cordoned() {
			t.Errorf("not contained: %q", incidents(s))
		}
		s.stop()
	})
}

// The node boots while the agent runs, as a simulated one can: sequences begin
// anew, and what a boot repairs is over once polls bear it out.
func TestRebootWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear("NVRM: a line", "NVRM: another", xid(2, uncontained), xid(2, resetAsked))
		s.log.reboot("22222222-boot")
		s.boot("22222222-boot")
		s.hear(xid(2, "79, pid=1, GPU has fallen off the bus."))
		if got := incidents(s); !slices.Contains(got, "xid-79") || s.Status().BootID != "22222222-boot" {
			t.Errorf("judged %q in boot %s", got, s.Status().BootID)
		}
		if got := s.world.told(); !slices.Contains(got, "22222222-0/FaultDetected") {
			t.Errorf("told %q: the sequence of the new boot was taken for the old one's", got)
		}
		s.polls(8)
		time.Sleep(2 * probation)
		synctest.Wait()
		if node, desired := s.world.state(); node.Unschedulable || desired.State != "healthy" {
			t.Errorf("after the reboot: %+v, %+v", node, desired)
		}
		s.stop()
	})
}

// The host boots while the agent is away: a fault that the boot has repaired is
// over, and the node goes back to service by itself.
func TestRebootWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear(xid(2, "79, pid=1, GPU has fallen off the bus."))
		s.stop()
		s.log.reboot("22222222-boot")
		s.boot("22222222-boot")
		s.start()
		if !s.world.cordoned() {
			t.Error("released before anybody has looked")
		}
		s.polls(8)
		time.Sleep(2 * probation)
		synctest.Wait()
		if node, _ := s.world.state(); node.Unschedulable || len(s.Status().History) != 1 {
			t.Errorf("after the reboot: %+v, %d ended", node, len(s.Status().History))
		}
		s.stop()
	})
}
