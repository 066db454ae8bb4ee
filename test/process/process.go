// Package process runs the real programs that tests are made of: etcd, an API
// server, the daemon. A process started here dies with the test binary, however
// that ends, and its output goes to a file.
package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Process is a running program, or one that has ended.
type Process struct {
	cmd  *exec.Cmd
	log  string        // path of its output
	done chan struct{} // closed when it has exited
}

// Start runs a command with its output appended to the file log.
func Start(log string, cmd *exec.Cmd) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, log: log, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL

	started := make(chan error)
	go func() {
		// Pdeathsig follows the thread that forked, not the process: that
		// thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // How it ended is in ExitCode and Tail.
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is how it ended, after Done: -1 by a signal.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Kill ends the process at once, stopped or not, and waits for it. There may be
// none.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // The one error is that it has ended already.
	<-p.done
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s to %s: %w", s, p.cmd.Path, err)
	}
	return nil
}

// Output is all that was written so far.
func (p *Process) Output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail returns the end of the output, for an error message.
func (p *Process) Tail() string {
	const enough = 2000
	text := p.Output()
	return text[max(0, len(text)-enough):]
}

// Pause stops the process where it is, and returns once every thread stands
// still: the signal alone would let one more answer out.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for !p.standsStill() {
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (p *Process) standsStill() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, stat := range threads {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // the thread is gone
		}
		// The state follows the name, which is in parentheses.
		if i := bytes.LastIndexByte(text, ')'); i < 0 || i+2 >= len(text) || text[i+2] != 'T' {
			return false
		}
	}
	return true
}
