package slurmtest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// Show is what scontrol shows of the node, or its error.
func (s *Slurm) Show() string {
	out, err := s.Run("scontrol", "show", "node", Node)
	if err != nil {
		return out + err.Error()
	}
	return out
}

var (
	stateLine  = regexp.MustCompile(`(?m)^\s*State=(\S+)`)
	reasonLine = regexp.MustCompile(`(?m)^\s*Reason=(.*?)(?: \[\S+@\S+\])?$`)
)

// State is the node's, such as IDLE+DRAIN.
func (s *Slurm) State() string { return first(stateLine, s.Show()) }

// Reason is that of its drain, without by whom and when.
func (s *Slurm) Reason() string { return first(reasonLine, s.Show()) }

func first(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// Drained says whether the node takes no jobs.
func (s *Slurm) Drained() bool { return strings.Contains(s.State(), "DRAIN") }

// AwaitState returns when the node's state fits a pattern.
func (s *Slurm) AwaitState(pattern string) {
	s.t.Helper()
	fits := regexp.MustCompile("^(" + pattern + ")$")
	s.await("its state is "+pattern, func() bool { return fits.MatchString(s.State()) })
}

// AwaitReason returns when the node's reason fits a pattern.
func (s *Slurm) AwaitReason(pattern string) {
	s.t.Helper()
	fits := regexp.MustCompile("^(" + pattern + ")$")
	s.await("its reason is "+pattern, func() bool { return fits.MatchString(s.Reason()) })
}

// Update is an administrator's scontrol update of the node.
func (s *Slurm) Update(settings ...string) {
	s.t.Helper()
	s.must(s.call(append([]string{"scontrol", "update", "nodename=" + Node}, settings...)...))
}

// Job runs a shell script as a job, and returns when it has begun.
func (s *Slurm) Job(name, script string) *process.Process {
	s.t.Helper()
	begun := s.path(name + ".begun")
	job := s.start(name, nil, "srun", "--immediate=30", "-n1", "sh", "-c", "touch "+begun+"; "+script)
	s.await("the job runs", func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	return job
}

// Run runs a client of the cluster.
func (s *Slurm) Run(argv ...string) (output string, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env()...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
