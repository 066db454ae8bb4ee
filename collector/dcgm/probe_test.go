package dcgm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// fake is a child in memory that ends when onEnd says so.
type fake struct {
	events  chan child.Event[Report]
	signals []os.Signal
	endsOn  string // EOF or TERM; nothing else ends it
}

func (f *fake) Write(p []byte) (int, error) { return len(p), nil }
func (f *fake) Close() error                { f.end("EOF"); return nil }
func (f *fake) say(r Report)                { f.events <- child.Event[Report]{Report: r} }
func (f *fake) die(exit int)                { f.events <- child.Event[Report]{Died: &child.Died{Exit: exit}} }

func (f *fake) end(how string) {
	if how == f.endsOn {
		f.die(0)
	}
}

func (f *fake) process() *process {
	signal := func(s os.Signal) error {
		f.signals = append(f.signals, s)
		f.end("TERM")
		return nil
	}
	return &process{Child: &child.Child[Report]{PID: 4711, Events: f.events, Stdin: f, Signal: signal}}
}

// bench runs a Probe whose children are fakes.
type bench struct {
	*Probe
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	starts int
	said   []Report
}

// run gives the n-th start the n-th fake; where there is none, as if an earlier
// child were still there, and then no program.
func run(fakes ...*fake) *bench {
	b := &bench{Probe: New(Config{})}
	b.start = func() (*process, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.starts++
		switch over := b.starts - len(fakes); over {
		case 1:
			return nil, child.ErrEarlier
		case 2:
			return nil, errors.New("no such file")
		default:
			return fakes[b.starts-1].process(), nil
		}
	}
	b.again()
	return b
}

func (b *bench) again() {
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.ended = cancel, make(chan error, 1)
	go func() { b.ended <- b.Run(ctx, b.hear) }()
	synctest.Wait()
}

func (b *bench) hear(r Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, r)
}

func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starts
}

func (b *bench) reports() []Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.said)
}

func (b *bench) kinds() (list []Kind) {
	for _, r := range b.reports() {
		list = append(list, r.Kind)
	}
	return list
}

func newFake(endsOn string) *fake {
	return &fake{events: make(chan child.Event[Report], 8), endsOn: endsOn}
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// The child of an absent engine ends and is started again, later each time; the
// absence is told once and no death at all.
func TestAbsentEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes := []*fake{newFake("EOF"), newFake("EOF"), newFake("EOF")}
		for _, f := range fakes {
			f.say(AbsentReport(Absent{Reason: NoEngine}))
			f.die(1)
		}
		fakes = append(fakes, newFake("EOF"))
		b := run(fakes...)
		wait(6 * time.Second)
		if b.count() != 3 {
			t.Errorf("%d children in 6 s, want 3", b.count())
		}
		wait(20 * time.Second)
		fakes[3].say(UpReport(Up{}))
		synctest.Wait()
		b.stop()
		if err := <-b.ended; err != nil || !slices.Equal(b.kinds(), []Kind{KindAbsent, KindUp}) {
			t.Errorf("%v, %v, want it absent once, then up", b.kinds(), err)
		}
	})
}

func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("EOF")
		b := run(f)
		f.events <- child.Event[Report]{Garbled: errors.New("half a line")}
		f.events <- child.Event[Report]{Died: &child.Died{Exit: 127, Symbol: "dcgmHealthCheck"}}
		synctest.Wait()
		b.stop()
		<-b.ended
		if len(b.reports()) != 2 || !strings.Contains(b.reports()[0].Failed.Text, "half a line") || b.reports()[1].Died.Symbol != "dcgmHealthCheck" {
			t.Errorf("%v, want the line and the death told", b.reports())
		}
	})
}

func TestStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run()
		wait(2 * time.Second)
		b.stop()
		<-b.ended
		if !slices.Equal(b.kinds(), []Kind{KindHung, KindFailed}) {
			t.Errorf("%v, want an earlier child, then a failure", b.kinds())
		}
	})
}

func TestSilentChildIsNotDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("EOF")
		b := run(f)
		f.say(UpReport(Up{}))
		wait(29 * time.Second)
		if len(b.reports()) != 1 {
			t.Fatalf("%v before two periods and two deadlines are over", b.kinds())
		}
		wait(time.Minute)
		if b.count() != 1 || len(b.reports()) != 3 {
			t.Fatalf("%d children, %v, want one child and two hung", b.count(), b.kinds())
		}
		if h := b.reports()[1].Hung; h.Call != NoAnswer || h.Seconds != 30 {
			t.Errorf("%+v, want no answer for 30 s", h)
		}
		b.stop()
		<-b.ended
	})
}

func TestStop(t *testing.T) {
	for _, endsOn := range []string{"EOF", "TERM", ""} {
		t.Run(fmt.Sprintf("%q", endsOn), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(endsOn)
				b := run(f)
				b.stop()
				err := <-b.ended
				if (err != nil) != (endsOn == "") || slices.Contains(f.signals, os.Kill) {
					t.Errorf("error %v, signals %v", err, f.signals)
				}
				if err == nil {
					return
				}
				if !strings.Contains(err.Error(), "4711") {
					t.Errorf("error %v does not name the process", err)
				}
				b.again() // goes on with the one that is stuck, whose end is no news
				f.die(0)
				wait(2 * time.Second)
				b.stop()
				<-b.ended
				if b.count() != 2 || slices.Contains(b.kinds(), KindDied) {
					t.Errorf("%d children, %v", b.count(), b.kinds())
				}
			})
		})
	}
}

func TestCommand(t *testing.T) {
	tests := []struct {
		cfg  Config
		want string
	}{
		{Config{Address: "localhost:5555"}, "probe dcgm --period 10s --deadline 5s --address localhost:5555"},
		{Config{Embedded: true, Profiling: true, Period: time.Minute}, "probe dcgm --period 1m0s --deadline 5s --embedded --profiling"},
	}
	for _, tt := range tests {
		command := tt.cfg.withDefaults().spec().Command
		if got := strings.Join(command[1:], " "); got != tt.want || command[0] != "" {
			t.Errorf("%+v: %q, want %q", tt.cfg, got, tt.want)
		}
	}
}
