package agent

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

// sink is a log that can be read while it is written.
type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sink) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), what)
}

// A flood is counted whole and told in part, and so are verdicts that a driver
// in disorder turns back and forth; the log says what was held back.
func TestAFloodDoesNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newStage(t), &sink{}
		s.logs = slog.NewJSONHandler(log, nil)
		s.start()
		s.polls(1)
		for range 2000 {
			s.log.say(xid(2, resetAsked), xid(2, nothingMore))
		}
		synctest.Wait()
		if heard, judged := log.count(`"msg":"heard"`), log.count(`"msg":"verdict"`); heard > 2*chatterBurst || judged > 2*chatterBurst {
			t.Errorf("a flood of 4000 lines: %d lines and %d verdicts in the log", heard, judged)
		}
		time.Sleep(time.Minute)
		s.hear(xid(2, resetAsked))
		if log.count("lines were held back") == 0 {
			t.Error("the log does not say that lines were held back")
		}
		if got := testutil.ToFloat64(s.opts.Metrics.events.WithLabelValues("xid", "154")); got != 4001 {
			t.Errorf("%v lines counted, want 4001", got)
		}
		s.stop()
	})
}

// While a flood lasts it is told once a second at most that lines are held back.
func TestThatLinesAreHeldBackIsToldSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &sink{}
		c := newChatter(slog.New(slog.NewJSONHandler(log, nil)), "a flood")
		for began := time.Now(); time.Since(began) < 20*heldEvery; time.Sleep(time.Millisecond) {
			c.allows()
		}
		if n := log.count("lines were held back"); n < 10 || n > 20 {
			t.Errorf("told %d times in 20 s", n)
		}
	})
}

// Kernel text reaches neither log nor terminal with its control characters.
func TestLinesAreMadePrintable(t *testing.T) {
	if got := printable("a\x1b[31mb\x7fc\u009bd\ne"); got != "a [31mb c d e" {
		t.Errorf("got %q", got)
	}
}

// Lost records make the agent ask the driver at once, and are told.
func TestAGapAsksTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newStage(t), &sink{}
		s.logs = slog.NewJSONHandler(log, nil)
		s.start()
		s.polls(1)
		handle := s.records()
		handle([]kernlog.Record{{Position: kernlog.Position{BootID: "11111111-boot", Sequence: 900}, Lost: 900, Text: []byte("usb 1-1: a line")}})
		synctest.Wait()
		if s.driver.polls.Load() != 1 || log.count(`"lost":900`) != 1 {
			t.Errorf("%d polls asked for; the log says it %d times", s.driver.polls.Load(), log.count(`"lost":900`))
		}
		s.stop()
	})
}

// User space can write to the kernel log, and is not believed.
func TestUserspaceIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start()
		s.polls(1)
		handle := s.records()
		handle([]kernlog.Record{{Position: kernlog.Position{BootID: "11111111-boot"}, Userspace: true, Text: []byte(xid(2, uncontained))}})
		synctest.Wait()
		if got := incidents(s); len(got) > 0 || s.world.cordoned() {
			t.Errorf("judged %q", got)
		}
		s.stop()
	})
}

// records is the agent's own way to take records, for those that the fake log
// cannot make.
func (s *stage) records() func([]kernlog.Record) {
	handle := s.Agent.hear(context.Background())
	return func(records []kernlog.Record) {
		if err := handle(kernlog.Batch{Records: records}); err != nil {
			s.t.Error(err)
		}
	}
}
