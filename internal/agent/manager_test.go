package agent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// TestAFabricManagerThatDies is found by the list of processes within a minute, and
// its node taken out of service. Where the list cannot be seen, nothing is said.
func TestAFabricManagerThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.make()
		runs, unseen := true, error(nil)
		s.core.opts.Managed = func() (bool, error) { return runs, unseen }
		s.run()
		s.polls(6, linkedBy(fine))
		unseen = errors.New("process 2 is not kthreadd")
		s.polls(int(3*time.Minute/period), linkedBy(fine))
		if got := incidents(s); len(got) > 0 {
			t.Fatalf("unseen: %q", got)
		}
		if why := s.Status().Services.FabricManager; why != unseen.Error() {
			t.Errorf("unseen: the status says %q", why)
		}
		runs, unseen = false, nil
		s.polls(int(time.Minute/period), linkedBy(fine))
		i := s.Status().Incidents
		if why := s.Status().Services.FabricManager; why != "" {
			t.Errorf("seen: the status says %q", why)
		}
		if len(i) != 1 || i[0].Verdict.Class != fault.FabricManagerDead || i[0].Verdict.Radius != fault.Baseboard || !s.world.cordoned() {
			t.Errorf("after a minute: %+v, cordoned %v", i, s.world.cordoned())
		}
		if _, d := s.world.state(); d.NVLink.Status != "False" || d.GPU.Status != "True" {
			t.Errorf("%+v, %+v", d.NVLink, d.GPU)
		}
		s.stop()
	})
}
