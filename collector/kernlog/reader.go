package kernlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

const (
	// minRecord is the longest record of the kernel with its escapes
	// (CONSOLE_EXT_LOG_MAX); maxRecord is where enlarging the buffer ends.
	minRecord = 8 << 10
	maxRecord = 64 << 10

	// maxRefused bounds reads in a row that no buffer is large enough for.
	maxRefused = 16

	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

// Reader hears /dev/kmsg, or a file in its format.
type Reader struct {
	cfg   Config
	queue *queue
	buf   []byte
	told  account
	// all delivers records of user space as well, for someone to compare.
	all bool

	// position is the last place accounted for, over all openings.
	position Position
	// began says that the log at the path began while the reader was listening:
	// nothing in it is history.
	began bool

	open      func(*waker) (source, error)
	monotonic func() uint64
}

// NewReader makes a reader that is deaf until Run. Both paths must be given.
func NewReader(cfg Config) (*Reader, error) {
	if cfg.Path == "" || cfg.BootIDPath == "" {
		return nil, fmt.Errorf("kernel log: path %q and boot id path %q must both be given", cfg.Path, cfg.BootIDPath)
	}
	r := &Reader{
		cfg: cfg, queue: newQueue(), buf: make([]byte, minRecord),
		position:  cfg.From.Kmsg,
		open:      func(w *waker) (source, error) { return openSource(cfg.Path, w) },
		monotonic: monotonicMicros,
	}
	r.told.state.Last = cfg.From.Kmsg
	r.told.state.deaf(errors.New("not opened yet"), time.Now())
	return r, nil
}

// State may be asked at any time.
func (r *Reader) State() State { return r.told.read() }

// Run hears the log until ctx ends or handle fails, and returns that error.
// handle gets records as soon as there are any, as many as have piled up; they
// are its own until it returns. Run is called once.
func (r *Reader) Run(ctx context.Context, handle func([]Record) error) error {
	w, err := newWaker()
	if err != nil {
		return fmt.Errorf("kernel log: %w", err)
	}
	defer w.close()
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { r.listen(ctx, w) })
	working.Go(func() { r.testSelf(ctx, w) })
	err = r.deliver(ctx, handle)
	cancel()
	w.wake()
	working.Wait()
	r.told.update(func(s *State) { s.deaf(errStopped, time.Now()) })
	return err
}

func (r *Reader) deliver(ctx context.Context, handle func([]Record) error) error {
	for {
		batch, err := r.queue.take(ctx)
		if err != nil {
			return err
		}
		if err := handle(batch); err != nil {
			return err
		}
	}
}

// listen opens the log again whenever it ends, until ctx does.
func (r *Reader) listen(ctx context.Context, w *waker) {
	backoff := minBackoff
	for {
		err := r.hear(ctx, w)
		if ctx.Err() != nil {
			return
		}
		r.told.update(func(s *State) { s.Reopened++ })
		if errors.Is(err, errStopped) { // the self-test does not trust this opening
			w.rest()
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if errors.Is(err, errReplaced) || errors.Is(err, errBeyond) {
			r.position, r.began = Position{}, errors.Is(err, errReplaced)
			continue
		}
		if r.State().Deaf == "" {
			backoff = minBackoff
		}
		r.told.update(func(s *State) { s.deaf(err, time.Now()) })
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// hear reads one opening of the log to its end, which is always an error.
func (r *Reader) hear(ctx context.Context, w *waker) error {
	src, err := r.open(w)
	if err != nil {
		return err
	}
	defer src.close()
	boot, err := BootID(r.cfg.BootIDPath)
	if err != nil {
		return err
	}
	s := newSession(boot, r.position, r.monotonic())
	s.live = r.began
	for {
		n, err := src.read(r.buf)
		if err == nil {
			err = r.accept(ctx, s, r.buf[:n])
		} else {
			err = r.interrupted(src, s, err)
		}
		if err != nil {
			return err
		}
	}
}

// interrupted takes what a read brought instead of a record; it returns the
// error back where that ends the opening.
func (r *Reader) interrupted(src source, s *session, err error) error {
	switch {
	case errors.Is(err, unix.EAGAIN):
		if err := s.dry(); err != nil {
			return err
		}
		r.told.update(func(s *State) { s.hearing(time.Now()) })
		return src.wait()
	case errors.Is(err, unix.EINVAL) && s.refused < maxRefused:
		s.refused++
		r.enlarge()
		return nil
	case errors.Is(err, unix.EPIPE):
		r.told.update(func(s *State) { s.Overruns++ })
		return nil
	case errors.Is(err, unix.EINTR):
		return nil
	}
	return fmt.Errorf("read kernel log %s: %w", r.cfg.Path, err)
}

// enlarge makes room for a record that was too long. It is lost, since the
// kernel passes over it, and will be counted by its sequence number.
func (r *Reader) enlarge() {
	r.told.update(func(s *State) { s.Oversized++ })
	if size := 2 * len(r.buf); size <= maxRecord {
		r.buf = make([]byte, size)
	}
}

// accept queues one record, if it is new and the kernel's own.
func (r *Reader) accept(ctx context.Context, s *session, raw []byte) error {
	s.refused = 0
	k, err := xidparse.CutKmsg(raw)
	if err != nil {
		s.garbled()
		r.told.update(func(s *State) { s.Garbled++ })
		return nil
	}
	rec, fresh := s.enter(k.Sequence, k.Micros, r.monotonic)
	if !fresh {
		return nil
	}
	r.position, r.began = s.position(), false
	rec.Userspace = k.Facility() != 0
	foreign := rec.Userspace && !r.cfg.AcceptUserspace && !r.all
	r.told.update(func(s *State) {
		s.record(rec, time.Now())
		if rec.Userspace && !r.cfg.AcceptUserspace {
			s.Foreign++
		}
	})
	if !foreign {
		return r.queue.put(ctx, rec, k.Text)
	}
	if rec.Lost > 0 {
		// The loss must be heard now, not when the kernel speaks next.
		return r.queue.put(ctx, rec, nil)
	}
	return nil
}

// monotonicMicros is CLOCK_MONOTONIC, which the kernel's own clock follows
// most closely. The call cannot fail with a clock that every Linux has.
func monotonicMicros() uint64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return uint64(ts.Nano()) / 1000
}
