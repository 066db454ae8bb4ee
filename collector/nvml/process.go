package nvml

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errEarlierChild means that Lock is held: a child of an earlier life of the
// agent has not ended.
var errEarlierChild = errors.New("a child of an earlier run has not ended")

// startProcess starts the child in a process group of its own: a terminal's ^C
// is for us, and we end it in order. The child inherits the lock and we close
// ours, so that it is free when the child's last thread is gone.
func startProcess(cfg Config) (*child, error) {
	argv, err := cfg.argv()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), lean...), cfg.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cfg.Lock != "" {
		lock, err := takeLock(cfg.Lock)
		if err != nil {
			return nil, err
		}
		defer lock.Close()
		cmd.ExtraFiles = []*os.File{lock}
	}
	return startCommand(cmd)
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
	lock.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errEarlierChild
	}
	return nil, fmt.Errorf("lock of the child %s: %w", path, err)
}

func startCommand(cmd *exec.Cmd) (*child, error) {
	stderr := &tail{}
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
	events := make(chan event)
	go func() {
		readEvents(stdout, events)
		_ = cmd.Wait() // what it returns is in ProcessState
		d := died(cmd.ProcessState.Sys().(syscall.WaitStatus), stderr.text)
		events <- event{died: &d}
	}()
	return &child{pid: cmd.Process.Pid, events: events, stdin: stdin, signal: cmd.Process.Signal, heard: time.Now()}, nil
}
