package agent

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/collector/pci"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// failures reports the same failure each period for so long.
func (s *stage) failures(d time.Duration, r nvml.Report) {
	for range d / period {
		s.report(r)
		time.Sleep(period)
		synctest.Wait()
	}
}

var (
	notFound = nvml.FailedReport(nvml.Error{Op: "nvmlInit", Code: 12, Text: "Local Shared Library Not Found"})
	mismatch = nvml.FailedReport(nvml.Error{Op: "nvmlInit", Code: errMismatch, Text: "Driver/library version mismatch"})
	crashed  = nvml.Report{V: nvml.ProtocolVersion, Kind: nvml.KindDied, Died: &nvml.Died{Exit: 127, Symbol: "nvmlDeviceGetFieldValues"}}
)

// A driver that does not answer is given the grace, at the start and later; then
// the agent calls itself blind, and never cordons for it.
func TestBlindAfterTheGrace(t *testing.T) {
	stopped := nvml.FailedReport(nvml.Error{Op: "hear the child", Text: "process 7 is stopped, until it gets SIGCONT"})
	for name, r := range map[string]nvml.Report{"not found": notFound, "a child that dies": crashed, "a child that is stopped": stopped} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start()
				s.failures(grace-period, r)
				if got := incidents(s); len(got) > 0 || len(s.world.tries()) > 0 {
					t.Errorf("within the grace: %q, %d writes", got, len(s.world.tries()))
				}
				if why := s.Status().NotReady(); len(why) != 1 || !strings.HasPrefix(why[0], "driver: ") {
					t.Errorf("not ready: %q", why)
				}
				s.failures(2*period, r)
				_, desired := s.world.state()
				if got := incidents(s); !slices.Equal(got, []string{"agent-blind"}) || desired.GPU.Status != "Unknown" || desired.GPUsHealthy != nil {
					t.Errorf("after the grace: %q, %+v", got, desired)
				}
				s.polls(4)
				if _, desired := s.world.state(); len(incidents(s)) > 0 || *desired.GPUsHealthy != gpus || len(s.Status().NotReady()) > 0 {
					t.Errorf("sees again: %q, %+v", incidents(s), desired)
				}
				writes := len(s.world.tries())
				s.failures(grace-2*period, r)
				s.polls(1)
				if n := len(s.world.tries()); n != writes || s.world.cordoned() {
					t.Errorf("a hiccup makes %d writes; cordoned %v", n-writes, s.world.cordoned())
				}
				s.stop()
			})
		})
	}
}

// A node without a GPU has no driver to ask: its agent is ready, says nothing of
// the Node, and alerts nobody.
func TestANodeWithoutAGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.make()
		s.core.opts.Bus = func() ([]pci.Device, error) { return nil, nil }
		s.opts.Bus = s.core.opts.Bus
		s.run()
		s.failures(2*grace, notFound)
		status := s.Status()
		if why := status.NotReady(); len(why) > 0 || !status.Driver.Gpuless {
			t.Errorf("not ready: %q, %+v", why, status.Driver)
		}
		if got := incidents(s); len(got) > 0 || len(s.world.tries()) > 0 {
			t.Errorf("%q, %d writes", got, len(s.world.tries()))
		}
		if strings.Contains(describe(t, s.metrics), "gpuhealthd_driver_up") {
			t.Error("the metric driver_up is there, and its alert")
		}
		s.stop()
	})
}

// All GPUs that fail at once are our own container's devices: the agent says that
// it is blind, blames nobody, and tries another child once.
func TestEveryGPUAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		failing := func(g *nvml.GPU) {
			g.Error = &nvml.Error{Op: "nvmlDeviceGetHandleByIndex", Code: 999, Text: "Unknown Error"}
		}
		for round := range int64(2) {
			s.polls(2)
			s.polls(20, failing)
			_, desired := s.world.state()
			if got := incidents(s); !slices.Equal(got, []string{"agent-blind"}) || desired.GPU.Status != "Unknown" || desired.GPUsHealthy != nil || s.world.cordoned() {
				t.Errorf("%q, %+v", got, desired)
			}
			if why := s.Status().NotReady(); !slices.Equal(why, []string{"driver: every GPU failed at once"}) {
				t.Errorf("not ready: %q", why)
			}
			if n := s.driver.restarts.Load(); n != round+1 {
				t.Errorf("another child was asked for %d times, %d times blind", n, round+1)
			}
			s.polls(4)
			if _, desired := s.world.state(); len(incidents(s)) > 0 || *desired.GPUsHealthy != gpus {
				t.Errorf("sees again: %q, %+v", incidents(s), desired)
			}
		}
		s.stop()
	})
}

// Calls that hang on every GPU are the driver's fault after two deadlines, and the
// child inside them is left alone.
func TestEveryGPUHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		for range 2 {
			for g := range gpus {
				s.report(hangs("nvmlDeviceGetFieldValues", g))
			}
			s.polls(1, func(g *nvml.GPU) { g.Stuck = "nvmlDeviceGetFieldValues" })
		}
		got := incidents(s)
		if len(got) != gpus || slices.ContainsFunc(got, func(c string) bool { return c != "driver-hung" }) || !s.world.cordoned() {
			t.Errorf("judged %q, cordoned %v", got, s.world.cordoned())
		}
		if n := s.driver.restarts.Load(); n > 0 {
			t.Errorf("another child was asked for %d times", n)
		}
		s.stop()
	})
}

// A GPU that an earlier life listed is missed, whoever looks at the PCI bus or not.
func TestAGPUThatWasListedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		s.stop()
		s.start()
		r := inventoryOf()
		r.Inventory.GPUs = slices.Delete(r.Inventory.GPUs, 5, 6)
		s.failures(2*period, r)
		got := s.Status().Incidents
		if len(got) != 1 || got[0].Verdict.Class != fault.GPULost || got[0].Verdict.GPUs[0].UUID != uuid(5) || !s.world.cordoned() {
			t.Errorf("judged %+v, cordoned %v", got, s.world.cordoned())
		}
		s.stop()
	})
}

// GPUs that are all off the bus by name are given the doubt until another child
// says so as well.
func TestEveryGPULost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		lost := func(g *nvml.GPU) { *g = nvml.GPU{Index: g.Index, Lost: true} }
		s.polls(3, lost)
		if got := incidents(s); !slices.Equal(got, []string{"agent-blind"}) || s.world.cordoned() {
			t.Errorf("by the old child %q, cordoned %v", got, s.world.cordoned())
		}
		s.report(nvml.HelloReport(nvml.Hello{}))
		s.polls(3, lost)
		got := incidents(s)
		if n := len(slices.DeleteFunc(got, func(c string) bool { return c != "gpu-lost" })); n != gpus || !s.world.cordoned() {
			t.Errorf("by another child %q, cordoned %v", got, s.world.cordoned())
		}
		s.stop()
	})
}

// Who sends a signal is told from a library that crashes.
func TestHowTheChildDied(t *testing.T) {
	for signal, want := range map[string]string{
		"SIGSEGV": "the driver library ended the child: SIGSEGV",
		"SIGKILL": "the NVML child was ended from outside: SIGKILL",
		"":        "the NVML child ended by itself",
	} {
		if got := died(nvml.Died{Exit: -1, Signal: signal}); got != want {
			t.Errorf("%q: %q, want %q", signal, got, want)
		}
	}
}

// A version mismatch does not pass by itself: it is told at once.
func TestMismatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.report(mismatch)
		if got := incidents(s); !slices.Equal(got, []string{"driver-mismatch"}) || s.world.cordoned() {
			t.Errorf("%q, cordoned %v", got, s.world.cordoned())
		}
		s.stop()
	})
}

// hangs is the report of a call on one GPU, or with none on no GPU, that does
// not return.
func hangs(call string, gpu ...int) nvml.Report {
	h := nvml.Hung{Call: call, Seconds: 3}
	for _, g := range gpu {
		h.Index, h.UUID = &g, uuid(g)
	}
	return nvml.HungReport(h)
}

// A call that does not return is a fault of its GPU at the second report; the
// kernel log is judged meanwhile.
func TestAHungCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		stuck := func(g *nvml.GPU) {
			if g.Index == 4 {
				g.Stuck = "nvmlDeviceGetFieldValues"
			}
		}
		s.report(hangs("nvmlDeviceGetFieldValues", 4))
		s.polls(1, stuck)
		if s.world.cordoned() {
			t.Error("cordoned for one missed deadline")
		}
		s.report(hangs("nvmlDeviceGetFieldValues", 4))
		if got := s.Status().Incidents; len(got) != 1 || got[0].Verdict.Class != "driver-hung" || got[0].Verdict.GPUs[0].UUID != uuid(4) || !s.world.cordoned() {
			t.Errorf("judged %+v, cordoned %v", got, s.world.cordoned())
		}
		s.hear(xid(6, uncontained))
		if !slices.Contains(incidents(s), "xid-95") {
			t.Errorf("judged %q", incidents(s))
		}
		s.stop()
	})
}

// A wait for events that does not return is told, and reboots nobody while the
// polls go on.
func TestAHungWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		r := inventoryOf()
		r.Inventory.Stuck = &nvml.Hung{Call: "nvmlEventSetWait", Seconds: 3}
		s.failures(2*period, r)
		got := s.Status().Incidents
		if len(got) != 1 || got[0].Verdict.Class != "driver-hung" || got[0].Verdict.Action != fault.Hold || s.world.cordoned() {
			t.Errorf("judged %+v, cordoned %v", got, s.world.cordoned())
		}
		if why := s.Status().NotReady(); !slices.Equal(why, []string{"driver: nvmlEventSetWait does not return"}) {
			t.Errorf("not ready: %q", why)
		}
		s.polls(3)
		if got := incidents(s); len(got) > 0 || len(s.Status().NotReady()) > 0 {
			t.Errorf("it returned, and yet %q", got)
		}
		s.stop()
	})
}

// What the library lacks is shown as long as that library is open.
func TestLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		for _, lacks := range [][]string{{"nvmlGpmSampleGet"}, nil} {
			s.report(nvml.HelloReport(nvml.Hello{Driver: "570.195.03", Lacks: lacks}))
			s.polls(1)
			if got := s.Status().Driver.Lacks; !slices.Equal(got, lacks) {
				t.Errorf("lacks %q, want %q", got, lacks)
			}
		}
		s.stop()
	})
}

// A child that says nothing at all is no fault while the driver may be loading,
// and a fault of the node after that.
func TestASilentChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.failures(grace-period, hangs(nvml.NoAnswer))
		if got := incidents(s); len(got) > 0 {
			t.Errorf("within the grace: %q", got)
		}
		s.failures(3*period, hangs(nvml.NoAnswer))
		if got := incidents(s); !slices.Equal(got, []string{"driver-hung"}) || !s.world.cordoned() {
			t.Errorf("after the grace: %q, cordoned %v", got, s.world.cordoned())
		}
		s.stop()
	})
}

// A GPU that is lost without a line in the kernel log is named by what was
// known of it, also after a restart at which the driver cannot name it.
func TestALostGPUKeepsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(2)
		s.stop()
		s.start()
		nameless := func(g *nvml.GPU) {
			if g.Index == 3 {
				*g = nvml.GPU{Index: 3, Lost: true}
			}
		}
		s.polls(3, nameless)
		got := s.Status().Incidents
		if len(got) != 1 || got[0].Verdict.Class != "gpu-lost" || got[0].Verdict.GPUs[0].UUID != uuid(3) {
			t.Errorf("judged %+v", got)
		}
		s.stop()
	})
}
