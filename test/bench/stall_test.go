package bench

import (
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/enginetest"
)

// stallRuns is how often each kind of stall is played.
var stallRuns = flag.Int("stalls", 30, "how often BenchmarkStall plays each kind of stall")

// ails are the kinds of stalls: on how many GPUs an engine is, and what befalls it.
var ails = []struct {
	name  string
	gpus  int
	flags []string
	play  func(e *enginetest.Engine) error
}{
	{"frozen", 1, nil, (*enginetest.Engine).Freeze},
	{"dead-loop", 1, nil, func(e *enginetest.Engine) error { return e.Fault("dead on") }},
	{"dead-and-mute", 1, nil, func(e *enginetest.Engine) error {
		if err := e.Fault("dead on"); err != nil {
			return err
		}
		return e.Fault("hang-metrics on")
	}},
	{"stuck-rank", 2, []string{"-ranks", "2"}, func(e *enginetest.Engine) error { return e.Fault("stuck 1") }},
	{"wedged-collective", 1, nil, func(e *enginetest.Engine) error {
		if err := e.Freeze(); err != nil {
			return err
		}
		return e.Show(node.Wedged)
	}},
}

// BenchmarkStall measures how long after a stall has begun, at any moment of a period, its
// verdict opens, at the defaults of serving and of the polls. A whole node of engines is
// played with at once.
func BenchmarkStall(b *testing.B) {
	for _, ail := range ails {
		b.Run(ail.name, func(b *testing.B) {
			for b.Loop() {
				var took []time.Duration
				for len(took) < *stallRuns {
					took = append(took, stallNode(b, ail.gpus, ail.flags, ail.play)...)
				}
				quantiles(b, "found", took[:*stallRuns])
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// stallNode stalls every engine of a node of eight GPUs, and gives how long each took to be found.
func stallNode(b *testing.B, gpus int, flags []string, play func(*enginetest.Engine) error) (took []time.Duration) {
	b.Helper()
	d := programs.New(b)
	d.Config.NVML, d.Config.Serving.Enabled = config.Default().NVML, true
	d.Config.NVML.BusPath = ""
	engines := map[string]*enginetest.Engine{}
	for first := 0; first < 8; first += gpus {
		c := config.Engine{Name: d.GPU(first).UUID}
		var has []int
		for gpu := first; gpu < first+gpus; gpu++ {
			has, c.GPUs = append(has, gpu), append(c.GPUs, d.GPU(gpu).UUID)
		}
		e := enginetest.Start(b, enginetest.Options{Library: programs.Library(b), Node: d.Sim, GPUs: has, Flags: flags})
		c.URLs, engines[c.Name] = []string{e.Metrics()}, e
		d.Config.Serving.Engines = append(d.Config.Serving.Engines, c)
	}
	for _, e := range engines {
		e.AwaitUp()
		for range 4 {
			e.Ask(b.Context(), 1, 100000)
		}
	}
	d.StartReady()
	daemontest.Await(b, "all get on", func() bool { return int(d.Metric("serving_replica_state", `state="well"`)) == len(engines) })
	began := stallAll(b, engines, play)
	opened := map[string]time.Time{}
	daemontest.Await(b, "all are found", func() bool {
		for _, i := range d.Status().Incidents {
			if i.Verdict.Class == fault.StalledEngine {
				opened[i.Verdict.Workloads[0].Name] = i.Verdict.Opened
			}
		}
		return len(opened) == len(engines)
	})
	for name, at := range opened {
		took = append(took, at.Sub(began[name]))
	}
	d.Kill()
	for _, e := range engines {
		e.Kill()
	}
	return took
}

// stallAll stalls each engine at a moment of its own within a period.
func stallAll(b *testing.B, engines map[string]*enginetest.Engine, play func(*enginetest.Engine) error) map[string]time.Time {
	b.Helper()
	began, failed := map[string]time.Time{}, error(nil)
	var mu sync.Mutex
	var playing sync.WaitGroup
	period := time.Duration(config.Default().Serving.Period)
	for name, e := range engines {
		playing.Go(func() {
			time.Sleep(rand.N(period))
			at := time.Now()
			err := play(e)
			mu.Lock()
			defer mu.Unlock()
			if began[name] = at; err != nil {
				failed = err
			}
		})
	}
	if playing.Wait(); failed != nil {
		b.Fatal(failed)
	}
	return began
}
