package kernlog

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// silent is a log that has records and does not say so: its poll sleeps.
type silent struct {
	script
	waker *waker
}

func (s *silent) wait() error {
	for {
		fds := []unix.PollFd{{Fd: int32(s.waker.fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, 0); n > 0 { // an interrupted call says nothing
			return errStopped
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// A reader that stands still before the log's end opens it anew, loudly, and
// reads what it had not; one that has all is left alone.
func TestSelfTest(t *testing.T) {
	for _, c := range []struct {
		name   string
		inside int // records that the first opening gives
		failed uint64
	}{
		{"deaf without knowing", 2, 1},
		{"all read", 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				cfg := Config{Path: "scripted", BootIDPath: filepath.Join(t.TempDir(), "boot_id"), Log: slog.New(slog.NewTextHandler(&log, nil))}
				setBoot(t, cfg.BootIDPath, "boot")
				r, err := NewReader(cfg)
				if err != nil {
					t.Fatal(err)
				}
				r.monotonic = clockAt(opened)
				all := []step{line(4, 0, "a"), line(4, 1, "b"), line(4, 2, "c"), line(4, 3, "d")}
				openings := 0
				r.open = func(w *waker) (source, error) {
					given := all
					if w != nil {
						if openings++; openings == 1 {
							given = all[:c.inside]
						}
					}
					return &silent{script{steps: given}, w}, nil
				}
				ctx, stop := context.WithCancel(t.Context())
				var heard []string
				done := make(chan error)
				go func() {
					done <- r.Run(ctx, func(records []Record) error {
						for _, rec := range records {
							heard = append(heard, string(rec.Text))
						}
						return nil
					})
				}()
				time.Sleep(2*testEvery + time.Minute)
				stop()
				<-done
				s := r.State()
				if s.Failed != c.failed || s.Reopened != c.failed || s.Tested.IsZero() {
					t.Errorf("failed %d, reopened %d, tested %v; want %d failed", s.Failed, s.Reopened, s.Tested, c.failed)
				}
				if got := strings.Join(heard, ""); got != "abcd" {
					t.Errorf("heard %q, want each record once", got)
				}
				if loud := strings.Contains(log.String(), "record 1 was read last, and record 3 is there"); loud != (c.failed > 0) {
					t.Errorf("the log says %q", log.String())
				}
			})
		})
	}
}
