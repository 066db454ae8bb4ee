package kernlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

const (
	// testFirst and testEvery are when the reader tests itself.
	testFirst = 10 * time.Second
	testEvery = time.Hour
	// testPatience is how long a reader that stands still may be behind.
	testPatience = 5 * time.Second
)

// testSelf compares, now and then, the log's end with what was read of it. A
// reader that is behind and stands still is deaf without knowing: it opens the
// log anew. One that moves is only slow.
func (r *Reader) testSelf(ctx context.Context, w *waker) {
	for pause := testFirst; sleep(ctx, pause); pause = testEvery {
		if r.State().Deaf != "" {
			continue // it knows
		}
		err := r.behind(ctx)
		if ctx.Err() != nil {
			return
		}
		r.told.update(func(s *State) {
			if s.Tested = time.Now(); err != nil {
				s.Failed++
			}
		})
		if err == nil {
			continue
		}
		if r.cfg.Log != nil {
			r.cfg.Log.Error("the kernel log was not heard; opening it anew", "error", err)
		}
		w.wake()
	}
}

// behind is an error where the reader has not got what the log has.
func (r *Reader) behind(ctx context.Context) error {
	end, err := r.end()
	if err != nil {
		return err
	}
	at := r.State().Last
	if at.BootID != end.BootID || at.Sequence >= end.Sequence {
		return nil
	}
	if !sleep(ctx, testPatience) {
		return nil
	}
	if now := r.State(); now.Last != at || now.Deaf != "" {
		return nil
	}
	return fmt.Errorf("self-test of %s: record %d was read last, and record %d is there", r.cfg.Path, at.Sequence, end.Sequence)
}

// end reads the log through a descriptor of its own: it has no other way to
// tell the number of its newest record. Zero is an empty log.
func (r *Reader) end() (Position, error) {
	boot, err := BootID(r.cfg.BootIDPath)
	if err != nil {
		return Position{}, err
	}
	src, err := r.open(nil)
	if err != nil {
		return Position{}, err
	}
	defer src.close()
	var last Position
	buf := make([]byte, maxRecord)
	for {
		n, err := src.read(buf)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, errReplaced):
			return last, nil
		case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR) || errors.Is(err, unix.EINVAL):
			continue
		case err != nil:
			return Position{}, fmt.Errorf("self-test of %s: %w", r.cfg.Path, err)
		}
		if k, err := xidparse.CutKmsg(buf[:n]); err == nil {
			last = Position{BootID: boot, Sequence: k.Sequence}
		}
	}
}

// sleep is false where ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
