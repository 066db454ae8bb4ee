package kernlog

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// source is an open log that is read as the kernel's own is: one record a
// call, EAGAIN where there is none yet, EPIPE where records were overwritten,
// EINVAL where p is too small for the record, which is then passed over.
type source interface {
	read(p []byte) (int, error)
	// wait returns when there may be something to read, or with errStopped.
	wait() error
	close()
}

var (
	// errStopped ends a wait because the reader is being stopped.
	errStopped = errors.New("stopped")
	// errReplaced says that another log lies at the path, or none.
	errReplaced = errors.New("log was replaced")
)

// openSource opens path and chooses the source by what lies there.
func openSource(path string, w *waker) (source, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open kernel log %s: %w", path, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("stat kernel log %s: %w", path, err)
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		return &device{fd: fd, waker: w}, nil
	case unix.S_IFREG:
		return follow(os.NewFile(uintptr(fd), path), w)
	}
	unix.Close(fd)
	return nil, fmt.Errorf("open kernel log %s: neither a character device nor a regular file", path)
}

// device is /dev/kmsg. It is a bare descriptor, since an os.File would have
// Go's own poller woken by every record as well.
type device struct {
	fd    int
	waker *waker
}

func (d *device) read(p []byte) (int, error) {
	n, err := unix.Read(d.fd, p)
	if err == nil && n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func (d *device) wait() error { return d.waker.wait(d.fd) }

func (d *device) close() { unix.Close(d.fd) }

// waker ends the wait for a descriptor from another goroutine.
type waker struct{ fd int }

func newWaker() (*waker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &waker{fd: fd}, nil
}

// wake ends the present wait and every later one. Adding one to the fresh
// counter of an eventfd cannot fail.
func (w *waker) wake() {
	_, _ = unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// rest undoes every wake so far.
func (w *waker) rest() {
	var count [8]byte
	_, _ = unix.Read(w.fd, count[:])
}

func (w *waker) close() { unix.Close(w.fd) }

// wait blocks until fd can be read, without a deadline.
func (w *waker) wait(fd int) error {
	fds := [2]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(w.fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds[:], -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("poll: %w", err)
		case fds[1].Revents != 0:
			return errStopped
		case fds[0].Revents&unix.POLLIN == 0:
			// Overwritten records raise POLLERR beside POLLIN; alone it would spin.
			return fmt.Errorf("poll: log is gone (revents %#x)", fds[0].Revents)
		}
		return nil
	}
}
