package agent

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// What systemd says of services, by the ids in sd-messages.h.
const (
	unitStarted = "39f53479d3a045ac8e11786248231fbf"
	unitFailed  = "d9b373ed55a64feb8242e02dbe79a49c"
)

// A fabric manager that failed makes the node suspect, and never cordons it; one
// that had failed before it was started is history. The others are counted.
func TestServices(t *testing.T) {
	manager := func(unit, id string) journal.Entry {
		return journal.Entry{Origin: journal.Manager, Unit: unit, MessageID: id, Text: []byte("systemd's words")}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		handle := s.Agent.hear(context.Background())
		say := func(entries ...journal.Entry) {
			if err := handle(kernlog.Batch{Others: entries, Mark: kernlog.Bookmark{Cursor: "c"}}); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		imex := journal.Entry{Origin: journal.Unit, Unit: services.IMEX, Text: []byte("[Sep 18 2026 06:40:33] [ERROR] [tid 77] Failed to connect")}
		say(manager(services.FabricManager, unitFailed), manager(services.FabricManager, unitStarted), imex)
		if got := incidents(s); len(got) > 0 {
			t.Fatalf("history is judged: %q", got)
		}
		say(manager(services.FabricManager, unitFailed))
		status := s.Status()
		if len(status.Incidents) != 1 || status.Incidents[0].Verdict.Class != fault.FabricManagerDead || status.Node.State != remediate.Suspect || s.world.cordoned() {
			t.Errorf("incidents %q, node %+v, cordoned %v", incidents(s), status.Node, s.world.cordoned())
		}
		for labels, want := range map[[2]string]float64{
			{services.IMEX, "trouble"}: 1, {services.FabricManager, "failed"}: 1, {services.FabricManager, "started"}: 1,
		} {
			if got := testutil.ToFloat64(s.opts.Metrics.services.WithLabelValues(labels[0], labels[1])); got != want {
				t.Errorf("%v: counted %v times, want %v", labels, got, want)
			}
		}
		s.stop()
	})
}

// A bookmark survives the store, also one that an older version wrote.
func TestBookmarkSurvivesTheStore(t *testing.T) {
	for _, b := range []kernlog.Bookmark{
		{},
		{Kmsg: kernlog.Position{BootID: "b", Sequence: 7}},
		{Kmsg: kernlog.Position{BootID: "b", Sequence: 7}, Cursor: "c", Last: kernlog.Moment{BootID: "b", Micros: 9}},
	} {
		if got := bookmark(position(b)); got != b {
			t.Errorf("%+v comes back as %+v", b, got)
		}
	}
}
