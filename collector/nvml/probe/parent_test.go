package probe

import (
	"context"
	"os"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// The whole way: parent, child, go-nvml, simulated driver.
func TestUnderParent(t *testing.T) {
	n := newNode(t)
	env := append(n.Env(simulated(t)), asProbe+"="+quick.String(), "GORACE=atexit_sleep_ms=0")
	parent := nvml.New(nvml.Config{
		Command: []string{os.Args[0]}, Env: env, Lock: t.TempDir(),
	})
	ctx, stop := context.WithCancel(t.Context())
	reports := make(chan nvml.Report)
	ended := make(chan error, 1)
	go func() {
		ended <- parent.Run(ctx, func(r nvml.Report) {
			select {
			case reports <- r:
			case <-ctx.Done():
			}
		})
	}()
	until := func(want func(nvml.Report) bool) {
		for r := range reports {
			if r.Kind == nvml.KindFailed || r.Kind == nvml.KindDied {
				t.Errorf("%+v", r)
			}
			if want(r) {
				return
			}
		}
	}
	until(func(r nvml.Report) bool { return r.Inventory != nil })
	must(t, n.Lose("7"))
	until(func(r nvml.Report) bool { return r.Inventory != nil && r.Inventory.GPUs[7].Lost })
	must(t, n.Hang("*", "", node.Forever))
	until(func(r nvml.Report) bool { return r.Hung != nil && *r.Hung.Index == 7 })
	until(func(r nvml.Report) bool { return r.Hung != nil && *r.Hung.Index == 0 })
	must(t, n.Hang("*", "", 0))
	until(func(r nvml.Report) bool { return r.Inventory != nil && r.Inventory.GPUs[0].Stuck == "" })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
