package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// TestIMEXIsLookedAtWhileItMayBeInUse: never on an idle tray; once a minute where
// programs use its GPUs. What a look cannot see is in the status.
func TestIMEXIsLookedAtWhileItMayBeInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, users, runs, unseen := 0, 1, true, errors.New("nvidia-imex-ctl: not found")
		s := newStage(t)
		s.adjust = func(o *Options) {
			o.IMEX = func(context.Context) (fault.IMEX, error) {
				looks++
				return fault.IMEX{Runs: &runs, Users: &users}, unseen
			}
		}
		s.start()
		s.polls(int(3*time.Minute/period), tray)
		if looks != 0 {
			t.Errorf("%d looks while nobody uses the tray", looks)
		}
		one := 1
		working := func(g *nvml.GPU) { g.Use.Processes = &one }
		s.polls(int(50*time.Second/period), tray, working)
		if why := s.Status().Services.IMEX; looks != 1 || why != unseen.Error() || len(incidents(s)) > 0 {
			t.Errorf("%d looks; the status says %q; %v", looks, why, incidents(s))
		}
		runs, unseen = false, nil
		s.polls(int(3*time.Minute/period), tray, working)
		if i := s.Status().Incidents; len(i) != 1 || i[0].Verdict.Class != fault.IMEXDown || i[0].Verdict.Action != fault.Hold || s.world.cordoned() {
			t.Errorf("%+v, cordoned %v", i, s.world.cordoned())
		}
		if why := s.Status().Services.IMEX; why != "" {
			t.Errorf("seen: the status says %q", why)
		}
		s.stop()
	})
}
