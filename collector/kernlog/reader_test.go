package kernlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestReaderDelivers(t *testing.T) {
	long := "0123456789abcdef" + strings.Repeat("x", minRecord)
	tests := []struct {
		name  string
		cfg   Config
		steps []step
		want  []string
		state State
	}{
		{
			name:  "backlog, then live",
			steps: []step{line(4, 0, "a"), fails(unix.EAGAIN), line(6, 1, "b")},
			want:  []string{"boot/0 backlog a", "boot/1 b"},
			state: State{Read: 2},
		},
		{
			name: "continuation, unknown fields, escapes, KEY=value lines",
			steps: []step{fails(unix.EAGAIN),
				{record: "4,0,5,c;NVRM: Xid\n"},
				{record: "4,1,5,-,caller=T123,new=1;name \\x0a\\x5c \\xzz\n SUBSYSTEM=pci\n DEVICE=+pci:0000\n"}},
			want:  []string{"boot/0 NVRM: Xid", "boot/1 name \n\\ \\xzz"},
			state: State{Read: 2},
		},
		{
			name:  "user space is left out and leaves no gap",
			steps: []step{fails(unix.EAGAIN), line(4, 0, "a"), line(12, 1, "forged"), line(4, 2, "b")},
			want:  []string{"boot/0 a", "boot/2 b"},
			state: State{Read: 3, Foreign: 1},
		},
		{
			name:  "user space is accepted",
			cfg:   Config{AcceptUserspace: true},
			steps: []step{fails(unix.EAGAIN), line(12, 0, "injected")},
			want:  []string{"boot/0 user injected"},
			state: State{Read: 1},
		},
		{
			name:  "a loss before user space's record is told at once",
			steps: []step{fails(unix.EAGAIN), line(4, 0, "a"), line(12, 5, "forged")},
			want:  []string{"boot/0 a", "boot/5 lost 4 user "},
			state: State{Read: 2, Foreign: 1, Lost: 4, LastGap: Gap{BootID: "boot", From: 1, To: 4}},
		},
		{
			name:  "overrun",
			steps: []step{line(4, 0, "a"), fails(unix.EPIPE), line(4, 900, "b")},
			want:  []string{"boot/0 backlog a", "boot/900 lost 899 backlog b"},
			state: State{Read: 2, Lost: 899, Overruns: 1, LastGap: Gap{BootID: "boot", From: 1, To: 899}},
		},
		{
			name:  "interrupted",
			steps: []step{fails(unix.EINTR), fails(unix.EAGAIN), fails(unix.EINTR), line(4, 0, "a")},
			want:  []string{"boot/0 a"},
			state: State{Read: 1},
		},
		{
			name:  "too long once, then the buffer is larger",
			steps: []step{fails(unix.EAGAIN), line(4, 0, "a"), line(4, 1, long), line(4, 2, long[:len(long)-1])},
			want:  []string{"boot/0 a", "boot/2 lost 1 " + long[:len(long)-1]},
			state: State{Read: 2, Lost: 1, Oversized: 1, LastGap: Gap{BootID: "boot", From: 1, To: 1}},
		},
		{
			name:  "garbled",
			steps: []step{fails(unix.EAGAIN), line(4, 0, "a"), {record: "no head\n"}, {record: ""}, line(4, 3, "b")},
			want:  []string{"boot/0 a", "boot/3 b"},
			state: State{Read: 2, Garbled: 2},
		},
		{
			name:  "same boot: nothing twice, what came meanwhile is news",
			cfg:   Config{From: Bookmark{Kmsg: Position{"boot", 1}}},
			steps: []step{line(4, 0, "a"), line(4, 1, "b"), line(4, 2, "c")},
			want:  []string{"boot/2 c"},
			state: State{Read: 1},
		},
		{
			name:  "new boot: from its start",
			cfg:   Config{From: Bookmark{Kmsg: Position{"old", 700}}},
			steps: []step{line(4, 0, "a"), line(4, 1, "b")},
			want:  []string{"boot/0 backlog a", "boot/1 backlog b"},
			state: State{Read: 2},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, tt.cfg, opening{steps: tt.steps})
				defer s.end()
				if got := s.heard(); !slices.Equal(got, tt.want) {
					t.Errorf("heard\n%q, want\n%q", got, tt.want)
				}
				want := tt.state
				want.Since, want.LastArrival = time.Now(), time.Now()
				want.Last = s.got[len(s.got)-1].Position
				if want.Lost > 0 {
					want.LastGap.At = time.Now()
				}
				if got := s.State(); got != want {
					t.Errorf("state\n%+v, want\n%+v", got, want)
				}
			})
		})
	}
}

func TestReaderIsNeverQuietlyDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := newStage(t, Config{},
			opening{err: errors.New("permission denied")},
			opening{err: errors.New("no such device")},
			opening{steps: []step{line(4, 0, "a"), fails(unix.EAGAIN), line(4, 1, "b"), fails(unix.EIO)}},
			opening{steps: []step{line(4, 0, "a"), line(4, 1, "b"), line(4, 4, "e")}})
		defer s.end()
		check := func(after time.Duration, deaf string, since time.Duration, reopened uint64, heard int) {
			t.Helper()
			time.Sleep(time.Until(start.Add(after)))
			synctest.Wait()
			got := s.State()
			if (deaf == "" && got.Deaf != "") || !strings.Contains(got.Deaf, deaf) || !got.Since.Equal(start.Add(since)) {
				t.Errorf("after %v: deaf %q since %v; want %q since %v", after, got.Deaf, got.Since.Sub(start), deaf, since)
			}
			if got.Reopened != reopened || len(s.heard()) != heard {
				t.Errorf("after %v: opened %d times again, heard %d; want %d, %d", after, got.Reopened, len(s.heard()), reopened, heard)
			}
		}
		check(0, "permission denied", 0, 1, 0)
		check(1*time.Second, "no such device", 0, 2, 0)
		// Two seconds later it hears two records and loses the device at once;
		// having heard, it tries again after one second.
		check(3*time.Second, "read kernel log scripted: input/output error", 3*time.Second, 3, 2)
		check(4*time.Second, "", 4*time.Second, 3, 3)
		want := []string{"boot/0 backlog a", "boot/1 b", "boot/4 lost 2 e"}
		if got := s.heard(); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

func TestReaderBacksOffToThirtySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := make([]opening, 8)
		for i := range refused {
			refused[i].err = fmt.Errorf("refused %d", i)
		}
		s := newStage(t, Config{}, refused...)
		defer s.end()
		// 1+2+4+8+16+30+30 s lie between eight openings.
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if got := s.State().Deaf; got != "refused 6" {
			t.Errorf("after 90 s: %q", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.State().Deaf; got != "refused 7" {
			t.Errorf("after 91 s: %q", got)
		}
	})
}

func TestReaderSaysThatTheBootIDIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{}, opening{steps: []step{fails(unix.EIO)}})
		defer s.end()
		setBoot(t, s.boot, "")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := s.State().Deaf; !strings.Contains(got, "boot id: "+s.boot) {
			t.Errorf("deaf: %q", got)
		}
	})
}

func TestReaderGivesUpOnRecordsThatNeverFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{}, opening{steps: slices.Repeat([]step{fails(unix.EINVAL)}, maxRefused+1)})
		defer s.end()
		if got := s.State(); !strings.Contains(got.Deaf, "invalid argument") || got.Oversized != maxRefused {
			t.Errorf("state %+v", got)
		}
		if len(s.buf) != maxRecord {
			t.Errorf("buffer has %d bytes", len(s.buf))
		}
	})
}

func TestReaderIgnoresPositionBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := []step{line(4, 0, "a"), line(4, 1, "b")}
		s := newStage(t, Config{From: Bookmark{Kmsg: Position{"boot", 900}}}, opening{steps: log}, opening{steps: log})
		defer s.end()
		want := []string{"boot/0 backlog a", "boot/1 backlog b"}
		if got := s.heard(); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

func TestReaderTakesAReplacedLogForNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{},
			opening{steps: []step{line(4, 7, "a"), fails(errReplaced)}},
			opening{err: errors.New("not there yet")},
			opening{steps: []step{line(4, 0, "first of the new boot"), fails(unix.EIO)}},
			opening{steps: []step{{record: "4,1,0,-;an hour before it was opened again\n"}}})
		defer s.end()
		setBoot(t, s.boot, "next")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := []string{"boot/7 lost 7 backlog a", "next/0 first of the new boot",
			"next/1 backlog an hour before it was opened again"}
		if got := s.heard(); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

func TestRunEndsWithTheHandlersError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		s.end()
		if got := s.State(); got.Deaf != errStopped.Error() {
			t.Errorf("after Run: deaf %q", got.Deaf)
		}
		full := errors.New("store is full")
		r, err := NewReader(s.cfg)
		if err != nil {
			t.Fatal(err)
		}
		stopped := make(chan struct{})
		defer close(stopped)
		r.open = func(*waker) (source, error) {
			return &script{steps: []step{line(4, 0, "a"), fails(unix.EIO)}, stopped: stopped}, nil
		}
		if err := r.Run(context.Background(), func([]Record) error { return full }); err != full {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestNewRefusesMissingPaths(t *testing.T) {
	if _, err := NewReader(Config{Path: DefaultPath}); err == nil {
		t.Error("no error without a boot id path")
	}
	if _, err := NewReader(Config{BootIDPath: DefaultBootIDPath}); err == nil {
		t.Error("no error without a path")
	}
}
