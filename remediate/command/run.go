package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// grace is how long a program may take to end after SIGTERM, and to be gone
	// after SIGKILL.
	grace = 2 * time.Second
	// outputDelay is how long output is waited for that somebody who left the
	// group keeps open.
	outputDelay = time.Second
)

// ErrStuck says that the program was killed and is still there, most likely in a call
// into the kernel that does not return.
var ErrStuck = errors.New("cannot be killed")

// Result is how a program ended.
type Result struct {
	// Exit is its exit status; -1 where a signal ended it, or nothing did.
	Exit int
	// Signal is the name of the signal that ended it, such as "killed".
	Signal string
	// Output is the end of what it wrote to stdout and stderr, at most OutputLimit
	// bytes of UTF-8; its only control characters are tabs and ends of lines.
	Output string
}

// Run runs a program to its end and hands it stdin. A program that fails is a
// Result and no error. An error is one that could not be started, or that was
// ended because the context was: then it wraps the context's error, and ErrStuck
// where the program could not be ended.
func Run(ctx context.Context, argv []string, stdin []byte) (Result, error) {
	return run(ctx, argv, nil, stdin)
}

// run is Run with more environment.
func run(ctx context.Context, argv, env []string, stdin []byte) (Result, error) {
	none := Result{Exit: -1}
	if len(argv) == 0 || argv[0] == "" {
		return none, errors.New("run a command: no program is named")
	}
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("run %s: %w", argv[0], err)
	}
	output := &tail{}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = outputDelay
	if err := cmd.Start(); err != nil {
		return none, fmt.Errorf("run %s: %w", argv[0], err)
	}
	ended := make(chan struct{})
	go func() {
		wait(cmd)
		close(ended)
	}()
	select {
	case <-ended:
		return result(cmd, output), nil
	case <-ctx.Done():
	}
	if !end(cmd.Process.Pid, ended) {
		return Result{Exit: -1, Output: output.text()}, fmt.Errorf("run %s: %w: %w", argv[0], ctx.Err(), ErrStuck)
	}
	return result(cmd, output), fmt.Errorf("run %s: %w", argv[0], ctx.Err())
}

// wait returns when the program has ended, and leaves nothing of its group. The
// group is killed while the program is a zombie: its number is nobody else's yet.
func wait(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	signal(cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait() // what it returns is in ProcessState
}

// end ends the group and says whether the program is gone.
func end(group int, ended <-chan struct{}) bool {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		signal(group, s)
		select {
		case <-ended:
			return true
		case <-time.After(grace + outputDelay):
		}
	}
	return false
}

// signal sends to a whole group. That there is nobody left is no failure.
func signal(group int, s unix.Signal) { _ = unix.Kill(-group, s) }

func result(cmd *exec.Cmd, output *tail) Result {
	r := Result{Exit: cmd.ProcessState.ExitCode(), Output: output.text()}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		r.Signal = status.Signal().String()
	}
	return r
}
