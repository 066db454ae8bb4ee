package dcgmi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxOutput is how much of dcgmi's words is kept. Level 3 on eight GPUs takes some
// hundred KiB.
const maxOutput = 8 << 20

// limited keeps the begin of what is written to it, and tells when there is more.
type limited struct {
	kept []byte
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	room := maxOutput - len(l.kept)
	l.kept = append(l.kept, p[:min(len(p), room)]...)
	if len(p) > room {
		l.full()
	}
	return len(p), nil
}

// process is a running command, the head of its own process group.
type process struct {
	cmd  *exec.Cmd
	out  limited
	errs limited
	// flooded is closed when it has written more than is kept.
	flooded chan struct{}
	// done is closed when the group is gone and what it wrote is here.
	done chan struct{}
}

// start starts a command. The error matches exec.ErrNotFound where there is none.
func start(argv, env []string) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), flooded: make(chan struct{}), done: make(chan struct{})}
	p.out.full = sync.OnceFunc(func() { close(p.flooded) })
	p.errs.full = p.out.full
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	// One who left the group and holds its output open is not waited for.
	p.cmd.WaitDelay = time.Second
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return p, nil
}

// live is the process's life. The thread that forks must live as long: its death
// is what Pdeathsig goes by.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	defer close(p.done)
	// While the head is dead but not reaped its group's number is nobody else's.
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.kill()
	_ = p.cmd.Wait() // how it ended is in ProcessState
}

// kill ends the whole group.
func (p *process) kill() { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) } // gone is well

// exit is the exit status, -1 where a signal ended it. It has exited.
func (p *process) exit() int { return p.cmd.ProcessState.ExitCode() }

// running tells whether it still is.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end is how a process that did not end by itself was ended.
type end struct {
	// killed: SIGTERM was not enough.
	killed bool
	// stuck: not even SIGKILL was.
	stuck bool
}

// asks is how often SIGTERM is sent within the grace: dcgmi takes no notice of one
// that comes just before it has the engine begin.
const asks = 10

// errFlood is why one is ended that writes without end.
var errFlood = fmt.Errorf("it wrote more than %d MiB", maxOutput>>20)

// flood is errFlood where that is what it did.
func (p *process) flood() error {
	select {
	case <-p.flooded:
		return errFlood
	default:
		return nil
	}
}

// wait waits for the process's end, and ends it when ctx is done, or when it writes
// without end: with SIGTERM, and after a grace with SIGKILL.
func (p *process) wait(ctx context.Context, grace time.Duration) end {
	select {
	case <-p.done:
		return end{}
	case <-ctx.Done():
	case <-p.flooded:
	}
	for range asks {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // gone is well
		if p.within(grace / asks) {
			return end{}
		}
	}
	p.kill()
	return end{killed: true, stuck: !p.within(grace)}
}

// within waits for the end, no longer than d.
func (p *process) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
