package journal

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// flood writes lines about nothing, and one about the GPU among the first, about
// as fast as journald can follow: it must not lose any itself.
func (m *machine) flood(lines int, one string) {
	m.t.Helper()
	for i := range lines {
		if m.say(fmt.Sprintf("flood %d of something that is not the driver's", i)); i == lines/8 {
			m.say(one)
		}
		if i%50 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// The agent stands still while the kernel overwrites its log three times. The
// journal has what was lost, and the one XID in there is acted on, once.
func TestOverrunIsFilledFromTheJournal(t *testing.T) {
	for _, source := range []kernlog.Source{kernlog.Auto, kernlog.Both} {
		t.Run(string(source), func(t *testing.T) {
			const lines = 4000
			m := newMachine(t, source)
			m.StartReady()
			m.settle()
			before := m.Status().KernelLog
			if err := syscall.Kill(m.PID(), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			m.flood(lines, daemontest.XID(m.gpu, daemontest.OffTheBus))
			if err := syscall.Kill(m.PID(), syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			m.awaitIncident()
			m.settle()
			after := m.Status().KernelLog
			lost, filled, overran := after.Lost-before.Lost, after.Filled-before.Filled, after.Kmsg.Lost-before.Kmsg.Lost
			t.Logf("the kernel overwrote %d records: %d filled in, %d lost", overran, filled, lost)
			if after.Kmsg.Overruns == before.Kmsg.Overruns || filled == 0 {
				t.Error("nothing was overwritten: this proves nothing")
			}
			if lost > 0 {
				t.Errorf("%d records lost", lost)
			}
			if incidents, heard := m.counted(); incidents != 1 || heard != 1 {
				t.Errorf("%d incidents of %d lines, want one of one", incidents, heard)
			}
			m.Stop()
		})
	}
}

// Between two lives the same.
func TestRestartIsFilledFromTheJournal(t *testing.T) {
	m := newMachine(t, kernlog.Auto)
	m.StartReady()
	m.settle()
	m.Stop()
	m.flood(3000, daemontest.XID(m.gpu, daemontest.OffTheBus))
	m.StartReady()
	m.awaitIncident()
	m.settle()
	h := m.Status().KernelLog
	t.Logf("the kernel overwrote %d records: %d filled in, %d lost", h.Kmsg.Lost, h.Filled, h.Lost)
	if h.Lost > 0 || h.Filled == 0 {
		t.Errorf("%d lost, %d filled in", h.Lost, h.Filled)
	}
	for range 2 {
		m.Stop()
		m.StartReady()
	}
	if incidents, heard := m.counted(); incidents != 1 || heard != 1 {
		t.Errorf("%d incidents of %d lines, want one of one", incidents, heard)
	}
	m.Stop()
}

// The journal alone: heard, once, over restarts and a rotation.
func TestJournalAlone(t *testing.T) {
	m := newMachine(t, kernlog.FromJournal)
	m.StartReady()
	m.settle()
	m.say(daemontest.XID(m.gpu, daemontest.OffTheBus))
	m.AwaitLog("verdict", "xid-79", m.gpu)
	m.journald.Rotate()
	m.Stop()
	m.StartReady()
	m.say(daemontest.XID(m.gpu, daemontest.OffTheBus))
	daemontest.Await(t, "the second line is heard", func() bool {
		_, heard := m.counted()
		return heard > 1
	})
	if incidents, heard := m.counted(); incidents != 1 || heard != 2 {
		t.Errorf("%d incidents of %d lines, want one of two", incidents, heard)
	}
	m.Stop()
}

// Whatever a process writes, to whichever log, acts on nothing.
func TestForgedLinesActOnNothing(t *testing.T) {
	for _, source := range []kernlog.Source{kernlog.Auto, kernlog.FromJournal, kernlog.Both} {
		t.Run(string(source), func(t *testing.T) {
			m := newMachine(t, source)
			m.Config.KernelLog.AcceptUserspace = false
			m.StartReady()
			m.settle()
			before := m.Status().KernelLog.Foreign
			line := daemontest.XID(m.gpu, daemontest.OffTheBus)
			m.send("socket", "MESSAGE="+line+"\nSYSLOG_IDENTIFIER=kernel\nSYSLOG_FACILITY=0\n_TRANSPORT=kernel\nPRIORITY=4\n")
			m.send("dev-log", "<4>kernel: "+line)
			m.say(line, "kernel: "+line)
			daemontest.Await(t, "both lines are seen and left out", func() bool { return m.Status().KernelLog.Foreign >= before+2 })
			if incidents, _ := m.counted(); incidents > 0 {
				t.Errorf("%d incidents", incidents)
			}
			m.Stop()
		})
	}
}
