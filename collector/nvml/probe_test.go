package nvml

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// fake is a child in memory. It does what onStop and onSignal say.
type fake struct {
	events   chan event
	stdin    bytes.Buffer
	signals  []os.Signal
	stopped  atomic.Bool
	onStop   func()
	onSignal func(os.Signal)
}

func newFake() *fake {
	return &fake{events: make(chan event, 8), onStop: func() {}, onSignal: func(os.Signal) {}}
}

func (f *fake) Write(p []byte) (int, error) { return f.stdin.Write(p) }
func (f *fake) Close() error                { f.onStop(); return nil }
func (f *fake) say(r Report)                { f.events <- event{Report: r} }
func (f *fake) die(d Died)                  { f.events <- event{Died: &d} }
func (f *fake) child() *process {
	signal := func(s os.Signal) error {
		f.signals = append(f.signals, s)
		f.onSignal(s)
		return nil
	}
	c := &child.Child[Report]{PID: 4711, Events: f.events, Stdin: f, Signal: signal}
	return &process{Child: c, heard: time.Now(), stopped: f.stopped.Load}
}

// bench runs a Probe whose children are fakes.
type bench struct {
	*Probe
	began time.Time
	stop  context.CancelFunc
	ended chan error

	mu    sync.Mutex
	times []time.Duration
	said  []Report
}

// starts tells when children were started.
func (b *bench) starts() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.times)
}

func (b *bench) reports() []Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.said)
}

func (b *bench) hear(r Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, r)
}

// run gives the n-th start the n-th outcome, and later ones the last.
func run(starts ...func() (*process, error)) *bench {
	b := &bench{Probe: New(Config{}), began: time.Now()}
	b.start = func() (*process, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.times = append(b.times, time.Since(b.began))
		return starts[min(len(b.times), len(starts))-1]()
	}
	b.again()
	return b
}

func (b *bench) again() {
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.ended = cancel, make(chan error, 1)
	go func() { b.ended <- b.Run(ctx, b.hear) }()
}

func one(f *fake) func() (*process, error)    { return func() (*process, error) { return f.child(), nil } }
func none(err error) func() (*process, error) { return func() (*process, error) { return nil, err } }

func (b *bench) kinds() (list []Kind) {
	for _, r := range b.reports() {
		list = append(list, r.Kind)
	}
	return list
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var (
	healthy = InventoryReport(Inventory{GPUs: []GPU{{Index: 0}}})
	hung    = HungReport(Hung{Call: "nvmlDeviceGetName", Seconds: 3})
	stuck   = InventoryReport(Inventory{GPUs: []GPU{{Index: 0, Stuck: "nvmlDeviceGetName"}}})
	failed  = FailedReport(Error{Op: "nvmlInit", Code: 18, Text: "mismatch"})
)

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(none(errors.New("no such file")))
		wait(3 * time.Minute)
		b.stop()
		if err := <-b.ended; err != nil {
			t.Error(err)
		}
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 15, 31, 63, 123} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !slices.Equal(b.starts(), want) {
			t.Errorf("started at %v, want %v", b.starts(), want)
		}
		if r := b.reports()[0]; r.Kind != KindFailed || !strings.Contains(r.Failed.Text, "no such file") {
			t.Errorf("report %+v", r)
		}
	})
}

func TestBackoffAfterLongLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		bad := none(errors.New("no"))
		b := run(bad, bad, bad, one(f), bad)
		defer func() { b.stop(); <-b.ended }()
		wait(7*time.Second + 2*child.MaxBackoff)
		f.die(Died{Exit: 2})
		wait(1500 * time.Millisecond)
		if n := len(b.starts()); n != 5 || b.starts()[4]-b.starts()[3] != 2*child.MaxBackoff+time.Second {
			t.Errorf("started at %v, want the fifth a second after the fourth ended", b.starts())
		}
	})
}

func TestSilentChildIsReportedNotDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		b := run(one(f))
		defer func() { f.onStop = func() { f.die(Died{}) }; b.stop(); <-b.ended }()
		f.say(healthy)
		wait(12 * time.Second)
		if len(b.reports()) != 1 {
			t.Fatalf("reports %v before two periods and a deadline are over", b.kinds())
		}
		wait(12 * time.Second)
		if len(b.starts()) != 1 || len(b.reports()) != 4 {
			t.Fatalf("%d children, reports %v, want one child and three hung", len(b.starts()), b.kinds())
		}
		for i, seconds := range []float64{13, 18, 23} {
			if h := b.reports()[i+1].Hung; h == nil || h.Call != NoAnswer || h.Seconds != seconds {
				t.Errorf("report %d: %+v, want no answer for %v s", i+1, h, seconds)
			}
		}
		f.say(healthy)
		wait(12 * time.Second)
		if n := len(b.reports()); n != 5 {
			t.Errorf("reports %v: an answer does not end the alarm", b.kinds())
		}
	})
}

// A child that was stopped is silent as well, and that says nothing of the driver.
func TestStoppedChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		b := run(one(f))
		f.say(healthy)
		f.stopped.Store(true)
		wait(14 * time.Second)
		if r := b.reports()[len(b.reports())-1]; len(b.starts()) != 1 || r.Kind != KindFailed || !strings.Contains(r.Failed.Text, "process 4711 is stopped") {
			t.Errorf("%d children, last report %+v", len(b.starts()), r)
		}
		f.stopped.Store(false) // and yet it says nothing
		wait(5 * time.Second)
		if r := b.reports()[len(b.reports())-1]; r.Kind != KindHung {
			t.Errorf("last report %+v", r)
		}
		f.stopped.Store(true)
		f.onSignal = func(s os.Signal) {
			if s == sigCont {
				f.die(Died{Exit: -1, Signal: "SIGTERM"})
			}
		}
		b.stop()
		if err := <-b.ended; err != nil || !slices.Equal(f.signals, []os.Signal{sigTerm, sigCont}) {
			t.Errorf("signals %v, error %v", f.signals, err)
		}
	})
}

func TestDeathIsReported(t *testing.T) {
	tests := []struct {
		name string
		word Report
		died int // reports of kind died
	}{
		{"healthy before", healthy, 1},
		{"hung before", hung, 1},
		{"said why", failed, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				b := run(one(f), none(child.ErrEarlier))
				f.say(tt.word)
				f.die(Died{Exit: 127, Symbol: "nvmlFoo"})
				wait(2 * time.Second)
				b.stop()
				<-b.ended
				if len(b.starts()) != 2 || len(b.reports()) != 1+tt.died {
					t.Errorf("%d starts, reports %v", len(b.starts()), b.kinds())
				}
				if tt.died == 1 && b.reports()[1].Died.Symbol != "nvmlFoo" {
					t.Errorf("%+v", b.reports()[1])
				}
			})
		})
	}
}

func TestPollIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		b := run(one(f))
		defer func() { f.onStop = func() { f.die(Died{}) }; b.stop(); <-b.ended }()
		for range 3 {
			b.Poll()
			synctest.Wait()
		}
		if got := f.stdin.String(); got != "poll\n" {
			t.Errorf("the child was asked %q, want one poll", got)
		}
		f.say(healthy)
		synctest.Wait()
		b.Poll()
		synctest.Wait()
		if got := f.stdin.String(); got != "poll\npoll\n" {
			t.Errorf("the child was asked %q, want another poll", got)
		}
	})
}

func TestEarlierChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(none(child.ErrEarlier))
		wait(10 * time.Second)
		if len(b.reports()) != 0 {
			t.Errorf("reports %v while the earlier child has time to end", b.kinds())
		}
		wait(10 * time.Second)
		b.stop()
		<-b.ended
		if len(b.reports()) != 1 || b.reports()[0].Hung.Call != NoAnswer {
			t.Errorf("reports %v, want one hung", b.kinds())
		}
	})
}

// TestQuiet: whoever needs the GPUs waits for the child's word.
func TestQuiet(t *testing.T) {
	tests := []ending{
		{"end of input", []Report{healthy}, "EOF", nil, false},
		{"SIGTERM", []Report{healthy}, "TERM", []os.Signal{sigTerm}, false},
		{"SIGKILL when in no call", []Report{stuck, healthy}, "KILL", []os.Signal{sigTerm, sigKill}, false},
		{"SIGKILL does not help", []Report{healthy}, "", []os.Signal{sigTerm, sigKill}, true},
		{"hung", []Report{healthy, hung}, "KILL", []os.Signal{sigTerm}, true},
		{"a GPU is stuck", []Report{hung, stuck}, "KILL", []os.Signal{sigTerm}, true},
		{"never said a word", nil, "KILL", []os.Signal{sigTerm}, true},
		{"hung, but ends", []Report{hung}, "EOF", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.check(t, func(b *bench) error {
				err := b.Quiet(context.Background())
				b.stop()
				<-b.ended
				return err
			})
		})
	}
}

// TestStop: a daemon that stops does so at once, and kills nothing.
func TestStop(t *testing.T) {
	tests := []ending{
		{"end of input", []Report{healthy}, "EOF", nil, false},
		{"SIGTERM", []Report{healthy}, "TERM", []os.Signal{sigTerm}, false},
		{"neither", []Report{healthy}, "KILL", []os.Signal{sigTerm}, true},
		{"hung", []Report{healthy, hung}, "KILL", []os.Signal{sigTerm}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.check(t, func(b *bench) error {
				began := time.Now()
				b.stop()
				err := <-b.ended
				if took := time.Since(began); took >= 2*time.Second {
					t.Errorf("it took %s", took)
				}
				return err
			})
		})
	}
}

// ending is a child that is ended.
type ending struct {
	name    string
	words   []Report
	obeys   string // what ends it: EOF, TERM, KILL or nothing
	signals []os.Signal
	left    bool
}

func (e ending) check(t *testing.T, how func(*bench) error) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		end := func(how string) {
			if how == e.obeys {
				f.die(Died{Exit: -1})
			}
		}
		f.onStop = func() { end("EOF") }
		f.onSignal = func(s os.Signal) { end(map[os.Signal]string{sigTerm: "TERM", sigKill: "KILL"}[s]) }
		b := run(one(f))
		for _, r := range e.words {
			f.say(r)
		}
		synctest.Wait()
		err := how(b)
		if (err != nil) != e.left || !slices.Equal(f.signals, e.signals) {
			t.Errorf("signals %v, error %v, want signals %v, left %v", f.signals, err, e.signals, e.left)
		}
		if e.left && !strings.Contains(err.Error(), "4711") {
			t.Errorf("error %q does not name the process", err)
		}
	})
}

func TestSilentChildIsNotKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		b := run(one(f))
		f.say(healthy)
		wait(time.Minute)
		b.stop()
		if err := <-b.ended; err == nil || !slices.Equal(f.signals, []os.Signal{sigTerm}) {
			t.Errorf("signals %v, error %v, want it left", f.signals, err)
		}
	})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, next := newFake(), newFake()
		next.onStop = func() { next.die(Died{}) }
		b := run(one(stuck), one(next))
		stuck.say(healthy)
		b.Restart()
		wait(time.Minute)
		if len(b.starts()) != 1 {
			t.Fatalf("%d children: a second one beside one that does not end", len(b.starts()))
		}
		stuck.die(Died{})
		wait(2 * time.Second)
		if len(b.starts()) != 2 || slices.Contains(b.kinds(), KindDied) {
			t.Errorf("%d children, reports %v, want a new child and no death that we asked for", len(b.starts()), b.kinds())
		}
		b.stop()
		if err := <-b.ended; err != nil {
			t.Error(err)
		}
	})
}

// A child in a call that does not return is not asked to end for another one.
func TestRestartLeavesAHungChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		closed := false
		f.onStop = func() { closed = true; f.die(Died{}) }
		b := run(one(f))
		f.say(hung)
		f.say(stuck)
		synctest.Wait()
		b.Restart()
		wait(time.Second)
		if closed || len(b.starts()) != 1 {
			t.Errorf("its input is closed: %v; %d children", closed, len(b.starts()))
		}
		b.stop()
		<-b.ended
	})
}

func TestLeftChildIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, next := newFake(), newFake()
		next.onStop = func() { next.die(Died{}) }
		b := run(one(f), one(next))
		f.say(hung)
		synctest.Wait()
		b.stop()
		if err := <-b.ended; err == nil {
			t.Fatal("a hung child was not left")
		}
		b.again()
		b.Poll()
		wait(20 * time.Second)
		if len(b.starts()) != 1 {
			t.Fatalf("%d children: a second one beside the stuck one", len(b.starts()))
		}
		if h := b.reports()[len(b.reports())-1].Hung; h == nil || h.Call != NoAnswer {
			t.Errorf("reports %v, want the child still hung", b.kinds())
		}
		f.die(Died{Exit: -1, Signal: "SIGTERM"})
		wait(2 * time.Second)
		if len(b.starts()) != 2 || slices.Contains(b.kinds(), KindDied) {
			t.Errorf("%d children, reports %v, want a new child and no death that we asked for", len(b.starts()), b.kinds())
		}
		b.stop()
		if err := <-b.ended; err != nil {
			t.Error(err)
		}
	})
}
