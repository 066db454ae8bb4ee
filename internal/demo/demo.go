package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// Options say what to play with.
type Options struct {
	// Daemon is the gpuhealthd binary, Library the folder of the simulated
	// driver.
	Daemon, Library string
	Out             io.Writer
	// Width is how many columns a line may take; less than 40 counts as 40.
	Width int
	Style replay.Style
	// Finish shows the daemon's status on out before the curtain falls.
	Finish func(ctx context.Context, out io.Writer, url string) error
}

// narrowest is the width below which nothing could be told.
const narrowest = 40

// Run plays the script once. It returns ctx's cause when that ends the play, and
// what a write to Out failed with when nobody can read it any more; in either
// case nothing that it started is left.
func Run(ctx context.Context, opts Options) error {
	if _, err := os.Stat(filepath.Join(opts.Library, "libnvidia-ml.so.1")); err != nil {
		return fmt.Errorf("the simulated driver: %w; build it with: make sim", err)
	}
	dir, err := os.MkdirTemp("", "gpuhealthd-demo-")
	if err != nil {
		return fmt.Errorf("a folder for the simulated node: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a stray folder in /tmp is no failure of the play
	n, err := node.New(filepath.Join(dir, "node"), "hgx-h100")
	if err != nil {
		return err
	}
	gpus, err := n.GPUs()
	if err != nil {
		return err
	}
	url, err := writeConfig(dir, n)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := &page{out: opts.Out, width: max(opts.Width, narrowest), end: end}
	voice := newVoice(out, opts.Style, gpus)
	voice.open(len(gpus))
	daemon, err := start(ctx, opts, dir, n, voice)
	if err != nil {
		return err
	}
	defer func() { _ = daemon.stop() }() // where the play failed, that is the error to tell
	if err := play(ctx, n, script(gpus), voice, daemon); err != nil {
		return err
	}
	voice.say("What gpuhealthd status shows now")
	if err := opts.Finish(ctx, out, url); err != nil {
		return err
	}
	voice.close()
	return daemon.stop()
}

// play does what the script says, in time.
func play(ctx context.Context, n *node.Node, acts []act, v *voice, d *daemon) error {
	for _, a := range append(acts, act{at: length}) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-d.done:
			d.done <- err
			return fmt.Errorf("the daemon ended before the play: %w", err)
		case <-time.After(time.Until(v.began.Add(a.at))):
		}
		if a.do == nil {
			continue
		}
		v.say(a.what)
		if err := a.do(n); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
	}
	return nil
}

// writeConfig makes everything quick enough to be watched.
func writeConfig(dir string, n *node.Node) (url string, err error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	c := config.Default()
	c.Node, c.Actuator = "demo", config.ActuatorLog
	c.KernelLog.Path, c.KernelLog.BootIDPath = n.KmsgPath(), n.BootIDPath()
	c.KernelLog.JournalPaths = nil // this machine's is not the simulated node's
	c.NVML.Period, c.NVML.Deadline = config.Duration(time.Second), config.Duration(time.Second)
	c.NVML.BusPath = "" // the simulated GPUs are on no bus
	c.Contain.CleanPolls, c.Contain.Probation = 1, config.Duration(1500*time.Millisecond)
	c.State.Path = filepath.Join(dir, "state.db")
	c.HTTP.Listen = fmt.Sprintf("127.0.0.1:%d", port)
	data, err := yaml.Marshal(c)
	if err != nil {
		return "", err
	}
	return "http://" + c.HTTP.Listen, os.WriteFile(filepath.Join(dir, "config.yaml"), data, 0o600)
}

// freePort asks the system for a port that nobody uses.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// daemon is the running gpuhealthd.
type daemon struct {
	cmd  *exec.Cmd
	done chan error
}

func start(ctx context.Context, opts Options, dir string, n *node.Node, v *voice) (*daemon, error) {
	cmd := exec.CommandContext(ctx, opts.Daemon, "run", "--config", filepath.Join(dir, "config.yaml"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	// A Ctrl-C is the demo's to hear; and a demo that is killed takes the daemon
	// along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Env = append(os.Environ(), n.Env(opts.Library)...)
	logs, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	d := &daemon{cmd: cmd, done: make(chan error, 1)}
	started := make(chan error)
	go func() {
		// Pdeathsig follows the thread that forked: it must live as long as the
		// daemon.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		v.narrate(logs)
		d.done <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	return d, nil
}

// stop ends the daemon, and may be called again.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	err := <-d.done
	d.done <- nil
	return err
}
