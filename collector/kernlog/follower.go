package kernlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// follower reads a growing file of kmsg records, one a line. Lines that begin
// with a space are the KEY=value lines of the record before and are passed
// over. A last line without its newline is still being written and waits.
//
// The file is replaced (or truncated) where the node it stands for boots: the
// boot id must be changed before the log is.
type follower struct {
	file    *os.File
	offset  int64
	inotify int
	waker   *waker

	// buf[start:end] is read and not yet handed on.
	buf        []byte
	start, end int
	// skipping says that the line under way is longer than buf.
	skipping bool
}

func follow(file *os.File, w *waker) (*follower, error) {
	fd, err := watch(file.Name())
	if err != nil {
		file.Close()
		return nil, err
	}
	return &follower{file: file, inotify: fd, waker: w, buf: make([]byte, maxRecord)}, nil
}

// watch hears that the file grew, shrank, moved or lost its name.
func watch(path string) (int, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("inotify: %w", err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY|unix.IN_ATTRIB|unix.IN_MOVE_SELF); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("watch %s: %w", path, err)
	}
	return fd, nil
}

func (f *follower) close() {
	f.file.Close()
	unix.Close(f.inotify)
}

func (f *follower) wait() error {
	if err := f.waker.wait(f.inotify); err != nil {
		return err
	}
	// What happened is seen in the file itself; the events only wake.
	var events [4096]byte
	for {
		_, err := unix.Read(f.inotify, events[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("read inotify of %s: %w", f.file.Name(), err)
		}
	}
}

func (f *follower) read(p []byte) (int, error) {
	for {
		line, whole := f.line()
		switch {
		case !whole:
			if err := f.fill(); err != nil {
				return 0, err
			}
		case f.skipping:
			f.skipping = false
			return 0, unix.EINVAL
		case line[0] == ' ':
		case len(line) > len(p):
			return 0, unix.EINVAL
		default:
			return copy(p, line), nil
		}
	}
}

// line takes the next whole line, its newline included.
func (f *follower) line() ([]byte, bool) {
	n := bytes.IndexByte(f.buf[f.start:f.end], '\n') + 1
	line := f.buf[f.start : f.start+n]
	f.start += n
	return line, n > 0
}

// fill reads on. Whether the file is still the one at the path is asked before
// the read, so that its last lines are not passed over.
func (f *follower) fill() error {
	replaced := f.replaced()
	if f.end-f.start == len(f.buf) {
		f.skipping, f.start = true, f.end
	}
	f.end = copy(f.buf, f.buf[f.start:f.end])
	f.start = 0
	n, err := f.file.Read(f.buf[f.end:])
	f.end += n
	f.offset += int64(n)
	switch {
	case n > 0:
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case replaced:
		return errReplaced
	}
	return unix.EAGAIN
}

func (f *follower) replaced() bool {
	mine, err := f.file.Stat()
	if err != nil || mine.Size() < f.offset {
		return true
	}
	there, err := os.Stat(f.file.Name())
	return err != nil || !os.SameFile(mine, there)
}
