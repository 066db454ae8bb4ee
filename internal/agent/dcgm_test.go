package agent

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
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
