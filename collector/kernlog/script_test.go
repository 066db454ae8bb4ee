package kernlog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

// step is what one read of a scripted log brings.
type step struct {
	record string
	err    error
}

// line is a record of the kernel, or of user space where prio is 12.
func line(prio int, seq uint64, text string) step {
	return step{record: fmt.Sprintf("%d,%d,%d,-;%s\n", prio, seq, opened, text)}
}

func fails(err error) step { return step{err: err} }

// script is a log that plays its steps, then has nothing more.
type script struct {
	steps   []step
	stopped <-chan struct{}
}

func (s *script) read(p []byte) (int, error) {
	if len(s.steps) == 0 {
		return 0, unix.EAGAIN
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	if len(next.record) > len(p) {
		return 0, unix.EINVAL
	}
	return copy(p, next.record), next.err
}

func (s *script) wait() error {
	if len(s.steps) > 0 {
		return nil
	}
	<-s.stopped
	return errStopped
}

func (s *script) close() {}

// opening is one opening of a scripted log; err refuses it.
type opening struct {
	steps []step
	err   error
}

// stage runs a reader over scripted openings inside a synctest bubble.
type stage struct {
	*Reader
	t    *testing.T
	boot string // path of the boot id
	mu   sync.Mutex
	got  []Record
	done chan error
	stop context.CancelFunc
}

func newStage(t *testing.T, cfg Config, openings ...opening) *stage {
	t.Helper()
	cfg.Path, cfg.BootIDPath = "scripted", filepath.Join(t.TempDir(), "boot_id")
	setBoot(t, cfg.BootIDPath, "boot")
	r, err := NewReader(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &stage{Reader: r, t: t, boot: cfg.BootIDPath, done: make(chan error, 1), stop: stop}
	r.monotonic = clockAt(opened)
	r.open = func(*waker) (source, error) {
		if len(openings) == 0 {
			return &script{stopped: ctx.Done()}, nil
		}
		next := openings[0]
		openings = openings[1:]
		return &script{steps: next.steps, stopped: ctx.Done()}, next.err
	}
	go func() { s.done <- r.Run(ctx, s.handle) }()
	synctest.Wait()
	return s
}

func setBoot(t *testing.T, path, id string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) handle(batch []Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, keep(batch)...)
	return nil
}

// keep copies records out of the reader's buffers.
func keep(batch []Record) []Record {
	kept := make([]Record, 0, len(batch))
	for _, rec := range batch {
		rec.Text = bytes.Clone(rec.Text)
		kept = append(kept, rec)
	}
	return kept
}

// heard tells what was delivered until now: sequence, loss, text.
func (s *stage) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []string
	for _, rec := range s.got {
		told = append(told, tell(rec))
	}
	return told
}

func tell(rec Record) string {
	told := fmt.Sprintf("%s/%d", rec.BootID, rec.Sequence)
	if rec.Lost > 0 {
		told += fmt.Sprintf(" lost %d", rec.Lost)
	}
	if rec.Backlog {
		told += " backlog"
	}
	if rec.Userspace {
		told += " user"
	}
	return told + " " + string(rec.Text)
}

func (s *stage) end() {
	s.t.Helper()
	s.stop()
	if err := <-s.done; err != context.Canceled {
		s.t.Errorf("Run: %v", err)
	}
}
