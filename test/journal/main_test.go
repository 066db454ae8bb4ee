// Package journal proves, on the real daemon, the machine's own /dev/kmsg and a
// real journald, that the kernel is heard from either, once, and that what one
// lost is found in the other.
package journal

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/journald"
)

var programs daemontest.Programs

func TestMain(m *testing.M) {
	defer programs.Remove()
	m.Run()
}

// testKmsg allows these tests to write to the machine's kernel log.
const testKmsg = "GPUHEALTHD_TEST_KMSG"

// machine is a daemon that hears this machine's kernel, and a journald that does.
type machine struct {
	*daemontest.Daemon
	journald *journald.Journald
	t        testing.TB
	// gpu is an address that no GPU has, and no other test.
	gpu string
}

// newMachine prepares a daemon with a source, and believes user space: nothing
// but the kernel itself can write to the log as the kernel.
func newMachine(t testing.TB, source kernlog.Source) *machine {
	t.Helper()
	if os.Getenv(testKmsg) == "" {
		t.Skipf("writes to /dev/kmsg: set %s to run", testKmsg)
	}
	m := &machine{Daemon: programs.New(t), journald: journald.Start(t), t: t, gpu: fmt.Sprintf("%04x:%02x:1e", 0xe000|os.Getpid()&0xfff, time.Now().Second())}
	k := &m.Config.KernelLog
	k.Source, k.Path, k.BootIDPath, k.AcceptUserspace = source, kernlog.DefaultPath, kernlog.DefaultBootIDPath, true
	k.JournalPaths = []string{m.journald.Root}
	return m
}

// settle returns when the losses from before the start are accounted for.
func (m *machine) settle() {
	m.t.Helper()
	daemontest.Await(m.t, "every record is accounted for", func() bool {
		h := m.Status().KernelLog
		if h.Deaf != "" || len(h.Missing()) > 0 {
			return false
		}
		return h.Kmsg == nil && h.Read > 0 || h.Kmsg != nil && h.Kmsg.Read > 0 && h.Filled+h.Lost == h.Kmsg.Lost
	})
}

// say writes lines to the kernel's log, each through a descriptor of its own,
// which may write ten in five seconds.
func (m *machine) say(lines ...string) {
	m.t.Helper()
	for _, line := range lines {
		file, err := os.OpenFile(kernlog.DefaultPath, os.O_WRONLY, 0)
		if err != nil {
			m.t.Fatal(err)
		}
		_, err = fmt.Fprintf(file, "<4>%s\n", line)
		if err := file.Close(); err != nil {
			m.t.Fatal(err)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// send gives journald a datagram, as a process that logs does.
func (m *machine) send(socket, text string) {
	m.t.Helper()
	address := filepath.Join(filepath.Dir(filepath.Dir(m.journald.Root)), "systemd", "journal", socket)
	c, err := net.Dial("unixgram", address)
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(text)); err != nil {
		m.t.Fatal(err)
	}
}

// counted is how many lines the open incidents on the test's GPU stand for.
func (m *machine) counted() (incidents int, lines uint64) {
	m.t.Helper()
	for _, i := range m.Status().Incidents {
		for _, d := range i.Verdict.GPUs {
			if d.PCI.String() == m.gpu {
				incidents++
				lines += i.Verdict.Count
			}
		}
	}
	return incidents, lines
}

// awaitIncident waits for one on the test's GPU. The agent's log does not tell
// each line where others flood the kernel's.
func (m *machine) awaitIncident() {
	m.t.Helper()
	daemontest.Await(m.t, "an incident on "+m.gpu, func() bool { n, _ := m.counted(); return n > 0 })
}
