package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/slurmtest"
)

// onNode has a shipped script run on the simulated node, where no daemon runs.
func onNode(t *testing.T, d *daemontest.Daemon, script string, env ...string) string {
	t.Helper()
	shipped, err := filepath.Abs("../../packaging/slurm/" + script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	d.Must(os.WriteFile(config, fmt.Appendf(nil, `
kernelLog: {path: %s, bootIDPath: %s, journalPaths: []}
nvml: {busPath: ""}
http: {listen: ""}
state: {path: %s/state.db}
`, d.Sim.KmsgPath(), d.Sim.BootIDPath(), dir), 0o600))
	program := filepath.Join(dir, "gpuhealthd")
	d.Must(os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nexec env %s %s \"$@\" --config %s\n", strings.Join(d.Env, " "), programs.Binary(t), config), 0o755))
	wrapper := filepath.Join(dir, "wrapper.sh")
	d.Must(os.WriteFile(wrapper, fmt.Appendf(nil, "#!/bin/sh\nexec env GPUHEALTHD=%s %s %s\n", program, strings.Join(env, " "), shipped), 0o755))
	return wrapper
}

// TestHealthCheckProgram: the shipped script drains a node whose GPUs are faulty, and
// lets one be of which nothing is known.
func TestHealthCheckProgram(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	s := slurmtest.New(t)
	s.Configure("HealthCheckProgram="+onNode(t, d, "healthcheck.sh", s.Env()...), "HealthCheckInterval=1")
	s.StartController()
	d.Must(d.Sim.Hang("nvmlDeviceGetName", "2", 60e9))
	s.StartNode() // which runs it once, and waits for it
	if s.Drained() {
		t.Errorf("the node is drained though nothing is known: %s", s.Reason())
	}
	d.Must(d.Sim.Restore("2"))
	sicken(d, 3)
	s.AwaitReason("gpuhealthd check: faulty: xid-95 on " + d.GPU(3).UUID + ".*")
	s.Update("reason=DIMM B2 - bob")
	d.Must(d.Sim.Restore("3"))
	s.AwaitReason("DIMM B2 - bob")
}

// TestPrologAndEpilog: a job runs on a healthy node; no job begins on a faulty one,
// which Slurm then drains.
func TestPrologAndEpilog(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	check := onNode(t, d, "jobcheck.sh")
	s := slurmtest.New(t)
	s.Configure("Prolog="+check, "Epilog="+check, "PrologFlags=Alloc")
	s.StartController()
	s.StartNode()
	succeeds(t, s.Job("healthy", "true"))
	s.AwaitState("IDLE")
	sicken(d, 3)
	if out, err := s.Run("srun", "--immediate=10", "true"); err == nil {
		t.Errorf("a job has run on a faulty node: %s", out)
	}
	s.AwaitReason("Prolog error")
}

// nhc has the shipped check say what NHC would hear: NHC itself is in no package of
// Debian, so that its die is the test's.
func nhc(t *testing.T, d *daemontest.Daemon, arguments string) string {
	t.Helper()
	program := filepath.Join(filepath.Dir(onNode(t, d, "jobcheck.sh")), "gpuhealthd")
	cmd := exec.Command("bash", "-c", `die() { shift; echo "ERROR: nhc: $*"; }; . ../../packaging/slurm/gpuhealthd.nhc; check_gpuhealthd `+arguments+`; echo "status $?"`)
	cmd.Env = append(os.Environ(), "GPUHEALTHD="+program)
	out, err := cmd.CombinedOutput()
	d.Must(err)
	return strings.TrimSpace(string(out))
}

func TestNHC(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	if said := nhc(t, d, ""); said != "status 0" {
		t.Errorf("of a healthy node: %s", said)
	}
	sicken(d, 3)
	if said := nhc(t, d, ""); !strings.HasPrefix(said, "ERROR: nhc: check_gpuhealthd: faulty: xid-95 on GPU-") || !strings.HasSuffix(said, "status 1") {
		t.Errorf("of a faulty node: %s", said)
	}
	if said := nhc(t, d, "--skip xid-95,recovery-action"); said != "status 0" {
		t.Errorf("with what is faulty skipped: %s", said)
	}
	if said := nhc(t, d, "--skip xid-7x"); !strings.Contains(said, "is no check") || !strings.HasSuffix(said, "status 1") {
		t.Errorf("called wrongly: %s", said)
	}
	deaf := programs.New(t)
	deaf.Must(os.Remove(deaf.Sim.KmsgPath()))
	if said := nhc(t, deaf, ""); !strings.HasPrefix(said, "check_gpuhealthd: unknown: kernel-log: ") || !strings.HasSuffix(said, "status 0") {
		t.Errorf("of a node of which nothing is known: %s", said)
	}
}
