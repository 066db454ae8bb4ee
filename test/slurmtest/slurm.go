// Package slurmtest runs a real Slurm of one node for tests: munged, slurmctld and
// slurmd of Debian's packages, in a folder of their own, on ports of their own.
package slurmtest

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// Node is the NodeName of the one node.
const Node = "gpu1"

// limit is long for a machine that does much else.
const limit = 60 * time.Second

// Slurm is a cluster of one node. Its methods are for the goroutine of its test.
type Slurm struct {
	t   testing.TB
	dir string
	// Rebooted is there once Slurm has asked the node to reboot.
	Rebooted string

	munge, controller, daemon *process.Process
}

// New prepares a cluster and starts munge alone. The test is skipped where the packages are missing, or where it is not root's.
func New(t testing.TB) *Slurm {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "scontrol", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: install Debian's slurmctld, slurmd, slurm-client and munge, as make test does", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("slurmd and munged are started as root")
	}
	s := &Slurm{t: t, dir: folder(t)}
	s.Rebooted = s.path("rebooted")
	t.Cleanup(s.stop)
	s.write("reboot.sh", "#!/bin/sh\ntouch "+s.Rebooted+"\n", 0o755)
	s.configure()
	s.startMunge()
	return s
}

// folder is one that every user may pass through: munged is not root's.
func folder(t testing.TB) string {
	dir, err := os.MkdirTemp("", "slurmtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover in the temp folder harms nothing
	for _, name := range []string{"", "state", "spool", "munge"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s *Slurm) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Slurm) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *Slurm) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	s.must(os.WriteFile(s.path(name), []byte(text), mode))
}

func (s *Slurm) configure() {
	s.t.Helper()
	host, err := os.Hostname()
	s.must(err)
	host, _, _ = strings.Cut(host, ".")
	s.write("slurm.conf", "", 0o644)
	s.Configure(
		"ClusterName=test", "SlurmctldHost="+host+"(127.0.0.1)", "SlurmUser=root",
		"SlurmctldPort="+s.port(), "SlurmdPort="+s.port(),
		"AuthType=auth/munge", "AuthInfo=socket="+s.path("munge/socket"), "CredType=cred/munge",
		"StateSaveLocation="+s.path("state"), "SlurmdSpoolDir="+s.path("spool"),
		"SlurmctldPidFile="+s.path("slurmctld.pid"), "SlurmdPidFile="+s.path("slurmd.pid"),
		"ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "MpiDefault=none",
		"SelectType=select/cons_tres", "MessageTimeout=3", "ReturnToService=1", "RebootProgram="+s.path("reboot.sh"),
		"NodeName="+Node+" NodeHostname="+host+" NodeAddr=127.0.0.1 CPUs=2 RealMemory=100 State=UNKNOWN",
		"PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
}

// Configure adds lines to slurm.conf, before anything is started.
func (s *Slurm) Configure(lines ...string) {
	s.t.Helper()
	text, err := os.ReadFile(s.path("slurm.conf"))
	s.must(err)
	s.write("slurm.conf", string(text)+strings.Join(lines, "\n")+"\n", 0o644)
}

// port is free at the moment.
func (s *Slurm) port() string {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	s.must(err)
	return port
}

func (s *Slurm) startMunge() {
	s.t.Helper()
	key := make([]byte, 128)
	rand.Read(key) // never fails, says crypto/rand
	s.write("munge/key", string(key), 0o400)
	for _, path := range []string{"munge", "munge/key"} {
		s.must(exec.Command("chown", "munge:", s.path(path)).Run())
	}
	s.munge = s.start("munged", nil, "setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--foreground", "--force",
		"--key-file="+s.path("munge/key"), "--socket="+s.path("munge/socket"), "--pid-file="+s.path("munge/pid"),
		"--log-file="+s.path("munge/log"), "--seed-file="+s.path("munge/seed"))
	s.await("munge listens", func() bool {
		_, err := os.Stat(s.path("munge/socket"))
		return err == nil
	})
}

func (s *Slurm) start(log string, env []string, argv ...string) *process.Process {
	s.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), s.Env()...), env...)
	p, err := process.Start(s.path(log+".log"), cmd)
	s.must(err)
	return p
}

// Env is what a client of this cluster needs in its environment.
func (s *Slurm) Env() []string { return []string{"SLURM_CONF=" + s.path("slurm.conf")} }

// StartController starts slurmctld, which remembers what an earlier one knew.
func (s *Slurm) StartController() {
	s.t.Helper()
	s.controller = s.start("slurmctld", nil, "slurmctld", "-D")
	s.await("slurmctld answers", func() bool { return s.call("scontrol", "ping") == nil })
}

// StopController kills slurmctld.
func (s *Slurm) StopController() {
	s.controller.Kill()
	s.controller = nil
}

// StartNode starts slurmd with more environment, for what it runs, and returns once
// it has registered.
func (s *Slurm) StartNode(env ...string) {
	s.t.Helper()
	s.daemon = s.start("slurmd", env, "slurmd", "-D", "-N", Node)
	s.await("the node has registered", func() bool { return registered.MatchString(s.Show()) })
}

// registered is what a node shows that has spoken to its controller.
var registered = regexp.MustCompile(`State=(IDLE|MIXED|ALLOCATED)(\+DRAIN)? (?s:.*)BootTime=\d`)

// RebootNode lets slurmd come back as after a reboot of its host.
func (s *Slurm) RebootNode() {
	s.t.Helper()
	s.daemon.Kill()
	s.daemon = s.start("slurmd", nil, "slurmd", "-D", "-b", "-N", Node)
}

func (s *Slurm) stop() {
	if s.t.Failed() {
		for _, name := range []string{"slurmctld.log", "slurmd.log"} {
			text, _ := os.ReadFile(s.path(name)) // one that is missing says nothing
			s.t.Logf("%s:\n%s", name, text)
		}
	}
	for _, p := range []*process.Process{s.daemon, s.controller, s.munge} {
		p.Kill()
	}
}

func (s *Slurm) await(what string, yes func() bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); !yes(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited %s in vain until %s; the node:\n%s", limit, what, s.Show())
		}
	}
}

func (s *Slurm) call(argv ...string) error {
	if out, err := s.Run(argv...); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return nil
}
