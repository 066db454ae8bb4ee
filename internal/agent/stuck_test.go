package agent

import (
	"testing"
	"testing/synctest"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

const (
	softLockup = "watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [nvidia-smi:2024380]"
	inDriver   = "RIP: 0010:_nv012454rm+0x437/0x4b0 [nvidia]"
)

// A processor that the kernel reports stuck inside the driver makes the node
// suspect, without a guess of a GPU and without a cordon, until polls have come
// back for long enough. The report's lines may come one by one.
func TestStuckInTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		s.hear(softLockup)
		s.hear(inDriver)
		status := s.Status()
		if len(status.Incidents) != 1 || status.Node.State != remediate.Suspect || s.world.cordoned() {
			t.Fatalf("incidents %q, node %+v, cordoned %v", incidents(s), status.Node, s.world.cordoned())
		}
		if v := status.Incidents[0].Verdict; v.Class != fault.DriverHung || v.Action != fault.Hold || len(v.GPUs) > 0 || v.ID != "11111111-0" {
			t.Errorf("verdict %+v", v)
		}
		s.polls(3)
		if got := incidents(s); len(got) > 0 {
			t.Errorf("polls come back, and yet %q", got)
		}
		s.stop()
	})
}

// A trace behind a gap may be another's, and user space is not believed.
func TestNotStuckInTheDriver(t *testing.T) {
	at := func(n uint64, text string) kernlog.Record {
		return kernlog.Record{Position: kernlog.Position{BootID: "11111111-boot", Sequence: n}, Text: []byte(text)}
	}
	gap, forged := at(9, inDriver), at(1, softLockup)
	gap.Lost, forged.Userspace = 8, true
	for name, records := range map[string][]kernlog.Record{
		"a gap":      {at(0, softLockup), gap},
		"user space": {forged, at(2, inDriver)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start()
				s.polls(1)
				s.records()(records)
				synctest.Wait()
				if got := incidents(s); len(got) > 0 {
					t.Errorf("judged %q", got)
				}
				s.stop()
			})
		})
	}
}
