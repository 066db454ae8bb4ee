package probe

import (
	"context"
	"os"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// The whole way: parent, child, go-dcgm, simulated engine, which is restarted.
func TestUnderParent(t *testing.T) {
	n := newNode(t)
	parent := dcgm.New(dcgm.Config{
		Command: []string{os.Args[0]}, Env: environment(n, library(t), config()),
		Lock: t.TempDir(),
	})
	ctx, stop := context.WithCancel(t.Context())
	reports := make(chan dcgm.Report)
	ended := make(chan error, 1)
	go func() {
		ended <- parent.Run(ctx, func(r dcgm.Report) {
			select {
			case reports <- r:
			case <-ctx.Done():
			}
		})
	}()
	until := func(want func(dcgm.Report) bool) {
		for r := range reports {
			if r.Kind == dcgm.KindFailed || r.Kind == dcgm.KindDied {
				t.Errorf("%+v", r)
			}
			if want(r) {
				return
			}
		}
	}
	until(func(r dcgm.Report) bool { return r.Health != nil }) // by then it listens
	must(t, n.DCGM().XID("7", 79))
	told, checked := false, false // in either order
	until(func(r dcgm.Report) bool {
		told = told || r.Violation != nil && r.Violation.Value == 79
		checked = checked || r.Health != nil && found(*r.Health)
		return told && checked
	})
	must(t, n.DCGM().Start(address))
	until(func(r dcgm.Report) bool { return r.Absent != nil && r.Absent.Reason == dcgm.EngineLost })
	until(func(r dcgm.Report) bool { return r.Up != nil })
	until(func(r dcgm.Report) bool { return r.Health != nil && r.Health.Overall == dcgm.Pass })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
