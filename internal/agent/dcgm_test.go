package agent

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Whatever keeps DCGM from a second opinion is logged once, and so is that it
// gives one again; a violation and a call that failed are told for themselves.
func TestWhatDCGMDoesIsLogged(t *testing.T) {
	listed := dcgm.ValuesReport(dcgm.Values{GPUs: []dcgm.GPU{{}}})
	again := "DCGM gives a second opinion again"
	none := "no second opinion by DCGM"
	for name, c := range map[string]struct {
		report dcgm.Report
		want   string
		back   int
	}{
		"a call hangs":   {dcgm.HungReport(dcgm.Hung{Call: "dcgmHealthCheck"}), none, 1},
		"child is still": {dcgm.HungReport(dcgm.Hung{Call: dcgm.NoAnswer, Child: "process 7 does not answer"}), none, 1},
		"no driver":      {dcgm.ValuesReport(dcgm.Values{}), none, 1},
		"child died":     {dcgm.Report{Kind: dcgm.KindDied, Died: &child.Died{Exit: 1}}, none, 1},
		"violation":      {dcgm.ViolationReport(dcgm.Violation{Condition: dcgm.Thermal, Value: 99}), `"condition":"thermal","value":99`, 0},
		"failed":         {dcgm.FailedReport(dcgm.Error{Op: "dcgmHealthCheck"}), "a call of DCGM failed", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, log := newStage(t), &sink{}
				s.logs = slog.NewJSONHandler(log, nil)
				s.make()
				for _, r := range []dcgm.Report{listed, c.report, listed} {
					s.core.consult(time.Now(), r)
				}
				if n := log.count(c.want); n != 1 || log.count(again) != c.back {
					t.Errorf("%d lines of it, %d that it is back", n, log.count(again))
				}
				s.run()
				s.stop()
			})
		})
	}
}

// TestWhatDCGMSaysOfNVLink: its limits on errors of a link are an opinion of that GPU;
// what the driver tells better is logged, with the switch's name where it is of one.
func TestWhatDCGMSaysOfNVLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newStage(t), &sink{}
		s.logs = slog.NewJSONHandler(log, nil)
		s.start()
		s.polls(2, tray)
		link := dcgm.Incident{Entity: dcgm.Entity{Group: "link", ID: 5, UUID: uuid(2)}, System: "nvlink", Code: 119, Result: dcgm.Fail}
		down := dcgm.Incident{Entity: dcgm.Entity{Group: "gpu", ID: 3, UUID: uuid(3)}, System: "nvlink", Code: 14, Result: dcgm.Fail}
		switched := dcgm.Incident{Entity: dcgm.Entity{Group: "switch", ID: 3}, System: "switch-fatal", Code: 15, Result: dcgm.Fail}
		s.core.tell(t.Context(), consulted{dcgm.HealthReport(dcgm.Health{Overall: dcgm.Fail, Incidents: []dcgm.Incident{link, down, switched}})})
		synctest.Wait()
		i := s.Status().Incidents
		if len(i) != 1 || i[0].Verdict.Class != fault.NVLinkDegrading || i[0].Verdict.GPUs[0].UUID != uuid(2) || i[0].Verdict.Action != fault.Record {
			t.Errorf("%+v", i)
		}
		for _, text := range []string{`"code":14,"result":"fail","of":"gpu 3"`, `"code":15,"result":"fail","of":"switch 3","gpu":""`} {
			if log.count(text) != 1 {
				t.Errorf("not logged once: %s", text)
			}
		}
		s.stop()
	})
}

// TestDCGMsIMEX: "not ready" is recorded while programs use the domain; that the engine
// could not ask, which it says for weeks on an idle tray, is nothing.
func TestDCGMsIMEX(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		one := 1
		working := func(g *nvml.GPU) { g.Use.Processes = &one }
		says := func(number float64) {
			for range 3 {
				g := dcgm.GPU{Entity: dcgm.Entity{UUID: uuid(0)}, Fields: map[int]float64{dcgm.FieldIMEXDaemon: number}}
				s.core.tell(t.Context(), consulted{dcgm.ValuesReport(dcgm.Values{GPUs: []dcgm.GPU{g}})})
			}
			s.polls(2, tray, working)
		}
		s.polls(2, tray)
		if says(-3); len(incidents(s)) > 0 {
			t.Errorf("an error of the command: %v", incidents(s))
		}
		says(2)
		if i := s.Status().Incidents; len(i) != 1 || i[0].Verdict.Class != fault.IMEXDown || i[0].Verdict.Action != fault.Record {
			t.Errorf("it waits for peers: %+v", i)
		}
		says(5)
		if s.polls(6, tray, working); len(incidents(s)) > 0 {
			t.Errorf("it is ready: %v", incidents(s))
		}
		s.stop()
	})
}
