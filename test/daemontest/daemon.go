package daemontest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// Daemon is gpuhealthd on a simulated node. Its methods are for the goroutine
// of its test.
type Daemon struct {
	// Sim is the node that it lives on.
	Sim *node.Node
	// Config is written at each start.
	Config config.Config
	// Env is added to the environment, the last word wins.
	Env []string
	// Wrap is a command that ends in executing the daemon, put before it.
	Wrap []string

	t       testing.TB
	binary  string
	dir     string
	url     string
	lives   int
	process *process.Process
	output  string // of the lives before
}

// New prepares a daemon on a new node with eight H100 and starts nothing. All
// its periods are as short as a test wants them, its actuator is the log.
func (p *Programs) New(t testing.TB) *Daemon {
	t.Helper()
	return p.NewOn(t, "hgx-h100")
}

// NewOn is New on a node of another profile.
func (p *Programs) NewOn(t testing.TB, profile string) *Daemon {
	t.Helper()
	dir := t.TempDir()
	sim, err := node.New(filepath.Join(dir, "node"), profile)
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Sim: sim, Config: quick(dir, sim), Env: sim.Env(p.Library(t)), t: t, binary: p.Binary(t), dir: dir}
	t.Cleanup(d.cleanup)
	return d
}

// quick is a configuration in which nothing takes long.
func quick(dir string, sim *node.Node) config.Config {
	c := config.Default()
	c.Actuator = config.ActuatorLog
	c.KernelLog.Path, c.KernelLog.BootIDPath = sim.KmsgPath(), sim.BootIDPath()
	c.KernelLog.JournalPaths = nil // this machine's is not the simulated node's
	c.NVML.Period, c.NVML.Deadline = config.Duration(time.Second), config.Duration(time.Second)
	c.NVML.BusPath = "" // the simulated GPUs are on no bus
	c.Contain.CleanPolls, c.Contain.Probation = 2, config.Duration(2*time.Second)
	c.Kubernetes.StartJitter = 0
	// Nodes of other tests are in the same cluster: whoever wants a group names it.
	c.Guards.Enabled = false
	// Nor are this machine's processes the node's: other tests play a fabric manager.
	c.Repair.Proc = filepath.Join(dir, "proc")
	c.State.Path = filepath.Join(dir, "state.db")
	// The kernel chooses the port, and the log tells it.
	c.HTTP.Listen = "127.0.0.1:0"
	return c
}

// listening is how the daemon's log tells the port.
var listening = regexp.MustCompile(`"Listening on","address":"([^"]+)"`)

// Start starts the daemon and returns when it answers over HTTP.
func (d *Daemon) Start() {
	d.t.Helper()
	text, err := yaml.Marshal(d.Config)
	if err != nil {
		d.t.Fatal(err)
	}
	path := d.ConfigPath()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		d.t.Fatal(err)
	}
	argv := append(slices.Clone(d.Wrap), d.binary, "run", "--config", path)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), d.Env...)
	d.lives++
	if d.process, err = process.Start(filepath.Join(d.dir, fmt.Sprintf("log-%d", d.lives)), cmd); err != nil {
		d.t.Fatal(err)
	}
	Await(d.t, "the daemon listens", func() bool {
		found := listening.FindStringSubmatch(d.process.Output())
		if found != nil {
			d.url = "http://" + found[1]
		}
		return found != nil || d.ended()
	})
	if d.ended() {
		d.t.Fatalf("the daemon ended with exit code %d", d.process.ExitCode())
	}
}

// ConfigPath is the configuration file of the last start.
func (d *Daemon) ConfigPath() string { return filepath.Join(d.dir, "config.yaml") }

// StartReady starts the daemon and returns when all its sources work.
func (d *Daemon) StartReady() {
	d.t.Helper()
	d.Start()
	d.AwaitReady()
}

func (d *Daemon) ended() bool {
	select {
	case <-d.process.Done():
		return true
	default:
		return false
	}
}

// AwaitKilled returns when somebody else has killed the daemon, which can then be
// started again.
func (d *Daemon) AwaitKilled() {
	d.t.Helper()
	Await(d.t, "the daemon is killed", d.ended)
	d.bury()
}

// Kill ends the daemon with SIGKILL, if it runs.
func (d *Daemon) Kill() {
	if d.process == nil {
		return
	}
	d.process.Kill()
	d.bury()
}

// Stop ends the daemon in order and says how long that took; it must succeed.
func (d *Daemon) Stop() time.Duration {
	d.t.Helper()
	began := time.Now()
	if err := d.process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	Await(d.t, "the daemon ends", d.ended)
	took := time.Since(began)
	if code := d.process.ExitCode(); code != 0 {
		d.t.Errorf("the daemon ended with exit code %d", code)
	}
	d.bury()
	return took
}

func (d *Daemon) bury() {
	d.output += d.process.Output()
	d.process = nil
}

// PID is the running daemon's process id.
func (d *Daemon) PID() int { return d.process.PID() }

// Log is all that it has written in all its lives.
func (d *Daemon) Log() string {
	if d.process == nil {
		return d.output
	}
	return d.output + d.process.Output()
}

func (d *Daemon) cleanup() {
	if d.t.Failed() {
		d.t.Logf("the daemon's log:\n%s", d.Log())
	}
	d.process.Kill()
}
