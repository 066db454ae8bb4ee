package holders

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestWorkOfACgroup(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for cgroup, want := range map[string]string{
		"0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n":                       "slurm job 4711",
		"0::/system.slice/node1_slurmstepd.scope/job_4711/step_batch\n":                         "slurm job 4711",
		"9:memory:/slurm/uid_1000/job_12/step_0\n1:name=systemd:/system.slice/slurmd.service\n": "slurm job 12",
		"0::/job_12/step_0\n": "",
		slice:                 "pod " + uid,
		"0::/system.slice/docker-" + id + ".scope\n":                        "container 0123456789ab",
		"0::/docker/" + id + "\n":                                           "container 0123456789ab",
		"0::/machine.slice/libpod-" + id + ".scope/container\n":             "container 0123456789ab",
		"0::/system.slice/train.service\n":                                  "unit train.service",
		"0::/user.slice/user-7.slice/user@7.service/app.slice/run-u1.scope": "unit run-u1.scope",
		"12:cpu:/\n1:name=systemd:/system.slice/train.service\n":            "unit train.service",
		"0::/user.slice/user-7.slice/session-3.scope\n":                     "",
		"0::/user.slice/user-7.slice/user@7.service/init.scope\n":           "",
		"0::/system.slice/slurmd.service\n":                                 "",
		"0::/\n":                                                            "",
		"":                                                                  "",
	} {
		if got := group(cgroup); got != want {
			t.Errorf("%q: %q, want %q", cgroup, got, want)
		}
	}
}

// kin is the folder of a process in /proc.
func kin(pid, parent, session, terminal int, comm, cgroup string) map[string]string {
	return map[string]string{
		fmt.Sprintf("%d/stat", pid):   fmt.Sprintf("%d (%s) S %d 7 %d %d -1 4194304 1 2\n", pid, comm, parent, session, terminal),
		fmt.Sprintf("%d/cgroup", pid): cgroup,
	}
}

// What torchrun starts are sessions of their own; they belong to it all the same, and
// not to the shell at which somebody has typed it.
func TestWorkOfAncestors(t *testing.T) {
	const here = "0::/user.slice/user-7.slice/session-3.scope\n"
	proc := t.TempDir()
	for _, files := range []map[string]string{
		kin(1, 0, 1, 0, "systemd", "0::/init.scope\n"),
		kin(50, 1, 50, 0, "sshd", "0::/system.slice/ssh.service\n"),
		kin(51, 50, 51, 0, "sshd", here), kin(52, 51, 52, 34816, "bash", here),
		kin(60, 52, 52, 34816, "torchrun", here), kin(61, 60, 61, 0, "python3 (a) b", here), kin(62, 60, 62, 0, "python3", here),
		kin(70, 1, 52, 0, "nohup\x1b", here), kin(71, 70, 52, 0, "python3", here),
		kin(80, 51, 80, 0, "python3", here),
		kin(90, 91, 90, 0, "a", here), kin(91, 90, 91, 0, "b", here), // as if ids were used again meanwhile
		{"99/cgroup": here},
	} {
		write(t, proc, files)
	}
	for pid, want := range map[int]string{
		61: "torchrun (pid 60)", 62: "torchrun (pid 60)", 60: "torchrun (pid 60)", 71: "nohup� (pid 70)", 80: "sshd (pid 51)",
	} {
		if got, err := Work(proc, pid); got != want || err != nil {
			t.Errorf("%d: %q, %v; want %q", pid, got, err, want)
		}
	}
	if _, err := Work(proc, 90); err != nil {
		t.Error("a circle:", err)
	}
	for pid, want := range map[int]string{99: "stat", 12345: "cgroup"} {
		if got, err := Work(proc, pid); err == nil || !strings.Contains(err.Error(), want) || !gone(err) {
			t.Errorf("%d: %q, %v", pid, got, err)
		}
	}
}

// A real process is found with its real parent.
func TestWorkOfARealProcess(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	a, errA := Work("/proc", child)
	b, errB := Work("/proc", cmd.Process.Pid)
	if a == "" || a != b || errA != nil || errB != nil {
		t.Errorf("the child is part of %q, %v; its parent of %q, %v", a, errA, b, errB)
	}
}

func FuzzWork(f *testing.F) {
	f.Add("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n")
	f.Add("0::/system.slice/tr\x1bain.service\n")
	f.Fuzz(func(t *testing.T, cgroup string) {
		if got := group(cgroup); strings.ContainsAny(got, "\n/") {
			t.Errorf("%q", got)
		}
	})
}
