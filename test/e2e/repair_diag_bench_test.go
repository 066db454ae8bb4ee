package e2e

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// BenchmarkDiagnosis diagnoses eight GPUs at level 2, by dcgmi alone and then by the
// daemon, at its default pace: from the request to the answer, so who holds the GPUs is
// looked at, the engine asked for its numbers, and the answer read and written down. The
// simulated tests take a second each, and there are three. It reports both, the ratio,
// and the processor time of daemon and children meanwhile.
func BenchmarkDiagnosis(b *testing.B) {
	c := diagnosing(b)
	must(b, c.Sim.Diag().Set("seconds", "1"))
	c.Config.NVML.Period = 5 * c.Config.NVML.Period
	c.StartReady()
	var alone, daemon, cpu time.Duration
	done := 0
	for b.Loop() {
		alone += dcgmiAlone(b, c)
		before := c.CPU()
		daemon += byDaemon(b, c)
		cpu += c.CPU() - before
		done++
	}
	each := func(sum time.Duration) float64 { return float64(sum.Microseconds()) / 1000 / float64(done) }
	b.ReportMetric(each(alone), "ms-dcgmi")
	b.ReportMetric(each(daemon), "ms-daemon")
	b.ReportMetric(each(daemon-alone), "ms-overhead")
	b.ReportMetric(float64(daemon)/float64(alone), "daemon/dcgmi")
	b.ReportMetric(each(cpu), "cpu-ms")
	b.ReportMetric(0, "ns/op")
}

// dcgmiAlone is how long the program takes by itself.
func dcgmiAlone(b *testing.B, c *clinic) time.Duration {
	b.Helper()
	r := c.Config.Repair.Diag
	cmd := exec.Command(r.Command[0], "diag", "-r", "2", "-j", "-i", "0,1,2,3,4,5,6,7", "--host", r.HostEngine)
	cmd.Env = append(os.Environ(), c.Env...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return time.Since(began)
}

// byDaemon is how long the daemon says that it took.
func byDaemon(b *testing.B, c *clinic) time.Duration {
	b.Helper()
	before := ""
	if a := c.Status().Diagnosis.Answer; a != nil {
		before = a.ID
	}
	c.Call("diag", "--level", "2", "--url", c.URL())
	var a *remediate.Answer
	daemontest.Await(b, "the diagnosis has its answer", func() bool {
		a = c.Status().Diagnosis.Answer
		return a != nil && a.ID != before
	})
	if a.Check != remediate.CheckPassed {
		b.Fatalf("the answer is %s: %s", a.Check, a.Text)
	}
	return a.Ended.Sub(a.At)
}

// BenchmarkWorkArrives has work come to a GPU that is diagnosed, at any moment of the
// agent's looks, and reports how long it is until the engine is free and no dcgmi runs.
// The simulated engine stops at once.
func BenchmarkWorkArrives(b *testing.B) {
	c := diagnosing(b)
	must(b, c.Sim.Diag().Set("hang", "memory"))
	c.StartReady()
	var sum, worst time.Duration
	done := 0
	for b.Loop() {
		c.Call("diag", "--level", "2", "--url", c.URL(), "--gpu", c.GPU(2).UUID)
		daemontest.Await(b, "the diagnosis runs", c.busy)
		time.Sleep(time.Duration(done%5) * time.Second) // another moment between two looks
		arrived := time.Now()
		work := c.hold("python3", 2, "")
		daemontest.Await(b, "the engine is free, and no dcgmi runs", func() bool { return !c.busy() && c.dcgmis() == "" })
		took := time.Since(arrived)
		work.Kill()
		daemontest.Await(b, "nothing is asked for any more", func() bool { return c.Status().Diagnosis.Asking == nil })
		sum, worst = sum+took, max(worst, took)
		done++
	}
	b.ReportMetric(float64(sum.Milliseconds())/float64(done), "ms-to-free")
	b.ReportMetric(float64(worst.Milliseconds()), "worst-ms-to-free")
	b.ReportMetric(0, "ns/op")
}
