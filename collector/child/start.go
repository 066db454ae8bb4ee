package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spec is how a child is started and read.
type Spec[R any] struct {
	// Command is the argument vector; where its first element is empty, this
	// executable.
	Command []string
	// Env is added to our own environment.
	Env []string
	// Lock is a file or folder that the child holds locked while it lives, so
	// that an agent which was killed and comes back starts none beside one that is
	// stuck. It must exist, and need not be writable. Empty is no such protection.
	Lock string
	// MaxLine is the longest line that the child may write, in bytes.
	MaxLine int
	// Parse reads one line.
	Parse func(line []byte) (R, error)
}

// Event is one thing that happens to a child. Exactly one part counts: Died,
// else Garbled, else Report.
type Event[R any] struct {
	Report  R
	Garbled error // a line that is no report
	Died    *Died // its end: nothing follows
}

// Child is a process that was started. Its Events must be received to the end.
type Child[R any] struct {
	PID    int
	Events <-chan Event[R]
	// Stdin is for requests; to close it asks the child to end.
	Stdin  io.WriteCloser
	Signal func(os.Signal) error
}

// lean is the environment that keeps a child small: it does little and is never
// in a hurry.
var lean = []string{"GOMAXPROCS=2", "GOGC=25"}

// Start starts the child in a process group of its own: a terminal's ^C is for
// us, and we end it in order. The child inherits the lock and we close ours, so
// that it is free when the child's last thread is gone.
func Start[R any](spec Spec[R]) (*Child[R], error) {
	argv, err := spec.argv()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), lean...), spec.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if spec.Lock != "" {
		lock, err := takeLock(spec.Lock)
		if err != nil {
			return nil, err
		}
		defer lock.Close()
		cmd.ExtraFiles = []*os.File{lock}
	}
	return start(cmd, spec)
}

func (s Spec[R]) argv() ([]string, error) {
	if s.Command[0] != "" {
		return s.Command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own executable: %w", err)
	}
	return append([]string{self}, s.Command[1:]...), nil
}

func takeLock(path string) (*os.File, error) {
	lock, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock of the child: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	_ = lock.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, earlier(path)
	}
	return nil, fmt.Errorf("lock of the child %s: %w", path, err)
}

func start[R any](cmd *exec.Cmd, spec Spec[R]) (*Child[R], error) {
	stderr := &words{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("child's stdin: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("child's stdout: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err // names the program
	}
	events := make(chan Event[R])
	go func() {
		readEvents(stdout, spec.MaxLine, spec.Parse, events)
		_ = cmd.Wait() // what it returns is in ProcessState
		d := died(cmd.ProcessState.Sys().(syscall.WaitStatus), stderr.text())
		events <- Event[R]{Died: &d}
	}()
	return &Child[R]{PID: cmd.Process.Pid, Events: events, Stdin: stdin, Signal: cmd.Process.Signal}, nil
}
