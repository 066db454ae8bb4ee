package packages

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// machine is a Debian that systemd-nspawn has booted, with a network of its own and this
// machine's /dev/kmsg, on a simulated GPU node.
type machine struct {
	debian
	sim    *node.Node
	leader string // its process 1, as this machine calls it
}

// inside is where the simulated node and its driver's library are in the machine.
const inside = "/sim"

// nspawn boots without a word to this machine's own systemd, if it has one.
const nspawn = `mount --make-rprivate /
mkdir -p /run/systemd/nspawn
mount -t tmpfs tmpfs /run/systemd/nspawn
exec systemd-nspawn --quiet --boot --register=no --keep-unit --console=pipe --private-network --capability=CAP_SYSLOG "$@"`

func boot(t testing.TB) *machine {
	t.Helper()
	m := &machine{debian: newDebian(t)}
	needs(t, "systemd-nspawn", "systemd-container")
	dir := t.TempDir()
	var err error
	m.sim, err = node.New(filepath.Join(dir, "sim"), "hgx-h100")
	must(t, err)
	run(t, "cp", filepath.Join(programs.Library(t), "libnvidia-ml.so.1"), filepath.Join(dir, "sim"))
	p, err := process.Start(filepath.Join(dir, "console"), exec.Command("unshare", "-m", "bash", "-c", nspawn, "nspawn",
		"--directory="+m.root, "--bind=/dev/kmsg", "--bind="+filepath.Join(dir, "sim")+":"+inside))
	must(t, err)
	t.Cleanup(p.Kill)
	daemontest.Await(t, "systemd is up", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.PID(), p.PID())) // the next look sees them
		if m.leader = strings.TrimSpace(string(children)); m.leader == "" {
			return false
		}
		state, _ := m.try("systemctl", "is-system-running") // one that is degraded is up as well
		return state == "running" || state == "degraded"
	})
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := m.try("journalctl", "--no-pager", "--unit", unit)
			t.Logf("the unit's journal:\n%s", log)
		}
	})
	return m
}

// try runs a program in the machine.
func (m *machine) try(args ...string) (said string, err error) {
	out, err := exec.Command("nsenter", append([]string{"--target", m.leader, "--all", "env", "DEBIAN_FRONTEND=noninteractive"}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run is what a program says in the machine, which must end well.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	said, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return said
}

// show is a property of the unit.
func (m *machine) show(property string) string {
	m.t.Helper()
	return m.run("systemctl", "show", "--value", "--property", property, unit)
}

// pid is the daemon's process id, 0 if there is none.
func (m *machine) pid() int {
	m.t.Helper()
	pid, err := strconv.Atoi(m.show("MainPID"))
	must(m.t, err)
	return pid
}

// configure makes the unit that of the simulated node, with what more says.
func (m *machine) configure(more string) {
	m.t.Helper()
	write(m.t, m.path(config), fmt.Sprintf(`
actuator: log
kernelLog: {path: %[1]s/kmsg, bootIDPath: %[1]s/boot_id, journalPaths: []}
nvml: {period: 1s, busPath: "", libraryPaths: [%[1]s]}
`, inside))
	write(m.t, m.path("etc/systemd/system/"+unit+".d/simulated.conf"), "[Service]\nEnvironment=GPUHEALTHD_SIM="+inside+"\nReadWritePaths="+inside+"\n"+more)
	m.run("systemctl", "daemon-reload")
}

// ready returns when kernel log and driver answer.
func (m *machine) ready() {
	m.t.Helper()
	daemontest.Await(m.t, "check says that all is seen", func() bool {
		_, err := m.try("gpuhealthd", "check", "--only", "driver,kernel-log")
		return err == nil
	})
}

// record is a line of the daemon's log.
type record struct {
	Message  string `json:"msg"`
	Error    string
	Text     string
	Sequence uint64
}

// log is what the daemon has said in all its lives.
func (m *machine) log() (all []record) {
	m.t.Helper()
	for line := range strings.Lines(m.run("journalctl", "--no-pager", "--output", "cat", "--unit", unit)) {
		var r record
		if json.Unmarshal([]byte(line), &r) == nil { // systemd's own lines are none
			all = append(all, r)
		}
	}
	return all
}
