package packages

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// impatient is a watchdog that a test can wait for. Beside it there is nothing that the
// unit would not have.
const impatient = "WatchdogSec=2s\nTimeoutAbortSec=1s\nRestartSec=100ms\n"

// TestBooted goes through the unit's life in one machine, in the order of an operator.
func TestBooted(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.run("dpkg", "-i", m.take(built.get(t, ".deb")))
	if enabled := m.run("systemctl", "is-enabled", unit); enabled != "enabled" || m.pid() != 0 {
		t.Errorf("after the installation it is %s, and its process is %d", enabled, m.pid())
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *machine)
	}{
		{"hears the kernel", hears}, {"notifies", notifies}, {"survives SIGSTOP", survives}, {"is upgraded", upgraded},
		{"has drop-ins", dropIns},
		{"goes on beside a configuration that is refused", refused}, {"stops beside a hang", stops}, {"is started when asked", asked}, {"cannot be started", unstartable},
	} {
		if !t.Run(part.name, func(t *testing.T) { m.t = t; part.run(t, m) }) {
			break
		}
	}
	m.t = t
}

// hears: the unit as it is installed opens the kernel's log.
func hears(t *testing.T, m *machine) {
	write(t, m.path(config), "actuator: log\n")
	m.run("systemctl", "start", unit)
	said := ""
	daemontest.Await(t, "the status tells that the kernel is heard", func() bool {
		said, _ = m.try("gpuhealthd", "status")
		return strings.Contains(said, "heard by kmsg")
	})
	t.Log(said)
	m.run("systemctl", "stop", unit)
}

// notifies: systemctl start returns when the daemon has said that it is ready.
func notifies(t *testing.T, m *machine) {
	m.configure(impatient)
	m.run("systemctl", "start", unit)
	if state, kind := m.show("ActiveState"), m.show("Type"); state != "active" || kind != "notify" {
		t.Errorf("a unit of type %s is %s", kind, state)
	}
	m.ready()
}

// survives: one that stands still is killed by the watchdog, and another goes on.
func survives(t *testing.T, m *machine) {
	stopped := m.pid()
	m.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", unit)
	daemontest.Await(t, "another daemon runs", func() bool {
		pid := m.pid()
		return pid != stopped && pid != 0 && m.show("ActiveState") == "active"
	})
	if said := m.run("journalctl", "--no-pager", "--unit", unit); !strings.Contains(said, "Watchdog timeout") {
		t.Error("the watchdog has done nothing")
	}
	m.ready()
}

// upgraded: while the package is upgraded the kernel goes on to speak, and each line is
// heard once.
func upgraded(t *testing.T, m *machine) {
	before, beginning := m.pid(), len(m.log())
	ctx, stop := context.WithCancel(t.Context())
	said := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			// An application's fault, of which nothing follows.
			if m.sim.Kmsg(daemontest.XID("0000:1b:00", "13, pid=1, name=x, Graphics Exception")) != nil {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		said <- n
	}()
	m.run("dpkg", "--force-confold", "-i", m.take(upgrade(t)))
	if after := m.pid(); after == before || after == 0 {
		t.Errorf("process %d before the upgrade, %d after it", before, after)
	}
	m.ready()
	stop()
	lines := <-said
	times := map[uint64]int{}
	daemontest.Await(t, "the last line is heard", func() bool {
		clear(times)
		for _, r := range m.log()[beginning:] {
			if r.Message == "heard" {
				times[r.Sequence]++
			}
		}
		return len(times) == lines
	})
	for sequence, n := range times {
		if n != 1 {
			t.Errorf("line %d was heard %d times", sequence, n)
		}
	}
	t.Logf("%d lines, each heard once", lines)
}

// dropIns: the unit works with what is taken from it, or given to it, for a mode.
func dropIns(_ *testing.T, m *machine) {
	for _, mode := range []string{"observe", "repair"} {
		at := "/etc/systemd/system/" + unit + ".d/" + mode + ".conf"
		m.run("cp", "/usr/share/gpuhealthd/"+unit+".d/"+mode+".conf", at)
		if mode == "observe" {
			m.configure(impatient + "ExecPaths=" + inside + "\n") // the library of a real driver is in /usr
		}
		m.run("systemctl", "daemon-reload")
		m.run("systemctl", "restart", unit)
		m.ready()
		m.run("rm", at)
	}
	m.configure(impatient)
	m.run("systemctl", "restart", unit)
	m.ready()
}

// refused: a version that does not take the configuration is installed, and the daemon
// that works is left alone.
func refused(t *testing.T, m *machine) {
	mine, before := read(t, m.path(config)), m.pid()
	write(t, m.path(config), mine+"colour: red\n")
	said := m.run("dpkg", "--force-confold", "-i", "/root/gpuhealthd_"+next+".deb")
	if !strings.Contains(said, "colour: unknown key") || !strings.Contains(said, "a daemon that runs goes on as the old version") {
		t.Errorf("it does not say why it is not started:\n%s", said)
	}
	if status := m.run("dpkg-query", "-W", "-f", "${db:Status-Status}", "gpuhealthd"); status != "installed" || m.pid() != before {
		t.Errorf("the package is %s; process %d before, %d after", status, before, m.pid())
	}
	write(t, m.path(config), mine)
	m.ready()
}

// stops: a child that is stuck in the driver is left behind, and that is said; nobody
// waits for it.
func stops(t *testing.T, m *machine) {
	thaw := freeze(t, m.child())
	began := time.Now()
	m.run("systemctl", "stop", unit)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if result := m.show("Result"); result != "success" {
		t.Errorf("the result is %s", result)
	}
	if all := m.log(); !slices.ContainsFunc(all, func(r record) bool {
		return r.Message == "the NVML child is left behind" && strings.Contains(r.Error, "its GPUs cannot be reset")
	}) {
		t.Errorf("it does not say that a child is left behind: %+v", all[max(0, len(all)-5):])
	}
	thaw()
}

// asked: debconf's answer, given before, starts it at the end of the installation.
func asked(t *testing.T, m *machine) {
	m.run("dpkg", "-P", "gpuhealthd")
	m.run("sh", "-c", "echo gpuhealthd gpuhealthd/start boolean true | debconf-set-selections")
	m.configure("")
	m.run("dpkg", "--force-confold", "-i", "/root/gpuhealthd_"+next+".deb")
	m.ready()
	m.run("dpkg", "-r", "gpuhealthd")
	m.run("dpkg", "--force-confold", "-i", "/root/gpuhealthd_"+next+".deb") // the answer stands until the purge
	m.ready()
	m.run("dpkg", "-P", "gpuhealthd")
	if m.pid() != 0 {
		t.Error("it is purged and runs")
	}
}

// unstartable: with the configuration as it comes the daemon finds no cluster here. That
// is told, and the package is installed all the same.
func unstartable(t *testing.T, m *machine) {
	m.run("rm", "-f", "/etc/gpuhealthd/config.yaml", "/etc/systemd/system/"+unit+".d/simulated.conf")
	m.run("sh", "-c", "echo gpuhealthd gpuhealthd/start boolean true | debconf-set-selections")
	said := m.run("dpkg", "-i", "/root/gpuhealthd_"+next+".deb")
	if !strings.Contains(said, "does not run: journalctl -u gpuhealthd") {
		t.Errorf("it does not say that it does not run:\n%s", said)
	}
	if status := m.run("dpkg-query", "-W", "-f", "${db:Status-Status}", "gpuhealthd"); status != "installed" {
		t.Errorf("the package is %s", status)
	}
	m.run("dpkg", "-P", "gpuhealthd")
}
