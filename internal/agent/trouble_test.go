package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Readiness names the call and the GPU that it hangs on, for as long as it does.
func TestReadinessNamesAStuckCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1, func(g *nvml.GPU) {
			if g.Index == 3 {
				g.Stuck = "nvmlDeviceGetFieldValues"
			}
		})
		if why := strings.Join(s.Status().NotReady(), "\n"); !strings.Contains(why, "nvmlDeviceGetFieldValues on "+uuid(3)) {
			t.Errorf("not ready: %q", why)
		}
		s.polls(1)
		if why := s.Status().NotReady(); why != nil {
			t.Errorf("not ready: %q", why)
		}
		s.stop()
	})
}

// A driver that hangs as a whole does not answer for any GPU: none is counted.
func TestADriverThatHangsAsAWholeCountsNoGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		time.Sleep(grace)
		for range 2 {
			s.report(nvml.HungReport(nvml.Hung{Call: nvml.NoAnswer, Seconds: 13, Child: "process 4711 does not answer"}))
		}
		if got := incidents(s); !slices.Equal(got, []string{"driver-hung"}) {
			t.Errorf("judged %q", got)
		}
		if _, want := s.world.state(); want.GPUsHealthy != nil || !want.Quarantine {
			t.Errorf("the Node says %+v", want)
		}
		if why := s.Status().NotReady(); !slices.Equal(why, []string{"driver: the NVML child: process 4711 does not answer"}) {
			t.Errorf("not ready: %q", why)
		}
		s.stop()
	})
}

// A missing right is told once a day.
func TestAMissingRightIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		tries := 0
		s.world.onApply = func(context.Context, remediate.Desired) error {
			tries++
			return fmt.Errorf("%w: no right", remediate.ErrForbidden)
		}
		told := 0
		s.world.onEmit = func(_ context.Context, e remediate.Event) error {
			if e.Reason == "NodeWriteForbidden" {
				told++
			}
			return nil
		}
		s.start()
		s.polls(20)
		if tries < 3 || told != 1 {
			t.Errorf("told %d times at %d tries", told, tries)
		}
		s.stop()
	})
}

// A trouble is logged when it comes, changes and ends, and as a reminder meanwhile, but
// not at each try.
func TestATroubleIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newStage(t), &sink{}
		s.logs = slog.NewJSONHandler(log, nil)
		tries := 0
		trouble := errors.New("slurmctld is away")
		s.world.onApply = func(context.Context, remediate.Desired) error {
			tries++
			return trouble
		}
		s.start()
		s.polls(1)
		time.Sleep(remindEvery - time.Minute)
		if node := s.Status().Node; node != nil {
			t.Errorf("nobody has said what the node is, and it is shown as %+v", node)
		}
		errs, notes := "the Node does not say what it should", "the Node will say later"
		if n := log.count(errs); tries < 10 || n != 1 {
			t.Errorf("logged %d times at %d tries", n, tries)
		}
		time.Sleep(2 * time.Minute)
		if n := log.count(errs); n != 2 {
			t.Errorf("with its reminder it is logged %d times", n)
		}
		trouble = fmt.Errorf("%w: Slurm reboots the node", remediate.ErrLater)
		time.Sleep(time.Minute)
		if log.count(errs) != 2 || log.count(notes) != 1 {
			t.Errorf("a wait is logged as an error, or %d times", log.count(notes))
		}
		trouble = nil
		time.Sleep(time.Minute)
		if n := log.count("the Node says what it should"); n != 1 {
			t.Errorf("that it is over is logged %d times", n)
		}
		s.stop()
	})
}

// What a flood adds to an incident changes no verdict, and is counted all the same.
func TestStatusCountsAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		for range 100 {
			s.hear(xid(2, uncontained))
		}
		if got := s.Status().Incidents; len(got) != 1 || got[0].Verdict.Count != 100 {
			t.Errorf("incidents %+v", got)
		}
		s.stop()
	})
}
