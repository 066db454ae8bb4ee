package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// fake is a child in memory.
type fake struct {
	events  chan child.Event[Report]
	stdin   bytes.Buffer
	obeys   os.Signal // what ends it: nil is the end of its input
	signals []os.Signal
}

func newFake() *fake { return &fake{events: make(chan child.Event[Report], 8)} }

func (f *fake) Write(p []byte) (int, error) { return f.stdin.Write(p) }

func (f *fake) Close() error {
	if f.obeys == nil {
		f.die(child.Died{})
	}
	return nil
}

func (f *fake) signal(s os.Signal) error {
	if s == syscall.Signal(0) {
		return nil
	}
	f.signals = append(f.signals, s)
	if s == f.obeys {
		f.die(child.Died{Exit: -1})
	}
	return nil
}

func (f *fake) say(r Report)       { f.events <- child.Event[Report]{Report: r} }
func (f *fake) die(d child.Died)   { f.events <- child.Event[Report]{Died: &d} }
func (f *fake) garble(error error) { f.events <- child.Event[Report]{Garbled: error} }

// bench runs a Probe whose children are fakes, the last one again and again.
type bench struct {
	*Probe
	stop   context.CancelFunc
	ended  chan error
	mu     sync.Mutex
	starts int
	said   []Report
}

func run(children ...*fake) *bench {
	b := &bench{Probe: New(Config{}), ended: make(chan error, 1)}
	b.start = func() (*child.Child[Report], error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.starts++
		if len(children) == 0 {
			return nil, errors.New("no such file")
		}
		f := children[min(b.starts, len(children))-1]
		return &child.Child[Report]{PID: 7, Events: f.events, Stdin: f, Signal: f.signal}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	go func() {
		b.ended <- b.Run(ctx, Place{Boot: "boot", Cursor: "first"}, func(r Report) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.said = append(b.said, r)
		})
	}()
	synctest.Wait()
	return b
}

// started counts children, after so long.
func (b *bench) started(after time.Duration) int {
	time.Sleep(after)
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starts
}

func (b *bench) end(t *testing.T) {
	t.Helper()
	b.stop()
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
}

// The next child goes on behind what was handled, and what the one before was
// asked is answered.
func TestChildDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newFake(), newFake()
		b := run(first, second)
		if !b.Fill(Span{Boot: "boot", From: 1, To: 2}) || !b.Fill(Span{Boot: "boot", From: 3, To: 4}) {
			t.Fatal("takes no question")
		}
		synctest.Wait()
		first.say(Report{Kind: KindEntries, Cursor: "second", Entries: []Entry{{Origin: Kernel, Micros: 9}, {Origin: Unit, Micros: 99}}})
		first.say(Report{Kind: KindFilled, Span: &Span{Boot: "boot", From: 1, To: 2}, Done: true})
		first.die(child.Died{Exit: 2, Signal: "SIGBUS"})
		b.started(2 * time.Second)
		if want := `{"follow":{"boot":"boot","cursor":"first"}}` + "\n" + `{"fill":{"boot":"boot","from":1,"to":2}}` + "\n" + `{"fill":{"boot":"boot","from":3,"to":4}}` + "\n"; first.stdin.String() != want {
			t.Errorf("the first was asked %q", first.stdin.String())
		}
		if want := `{"follow":{"boot":"boot","cursor":"second","after":9}}` + "\n"; second.stdin.String() != want {
			t.Errorf("the second was asked %q", second.stdin.String())
		}
		b.end(t)
		said := b.said[len(b.said)-2:]
		if said[0].Kind != KindFailed || !strings.Contains(said[0].Error, "SIGBUS") {
			t.Errorf("%+v does not name the signal", said[0])
		}
		if said[1].Kind != KindFilled || !said[1].Done || said[1].Span.From != 3 || said[1].Error == "" {
			t.Errorf("%+v does not answer", said[1])
		}
	})
}

func TestChildIsEnded(t *testing.T) {
	for _, c := range []struct {
		obeys   os.Signal
		signals []os.Signal
	}{
		{nil, nil},
		{syscall.SIGTERM, []os.Signal{syscall.SIGTERM}},
		{syscall.SIGKILL, []os.Signal{syscall.SIGTERM, syscall.SIGKILL}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.obeys = c.obeys
			b := run(f)
			b.end(t)
			if !slices.Equal(f.signals, c.signals) {
				t.Errorf("signals %v, want %v", f.signals, c.signals)
			}
		})
	}
}

// A child that says nothing, or no report, is replaced: there is no driver in it
// that could mind.
func TestUselessChildIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, garbled, good := newFake(), newFake(), newFake()
		b := run(silent, garbled, good)
		silent.say(Report{Kind: KindAlive})
		if n := b.started(silence - time.Second); n != 1 {
			t.Fatalf("%d children before the time is over", n)
		}
		b.started(5 * time.Second)
		garbled.garble(errors.New("not JSON"))
		if n := b.started(5 * time.Second); n != 3 {
			t.Errorf("%d children, want 3", n)
		}
		b.end(t)
		var why []string
		for _, r := range b.said {
			if r.Kind == KindFailed {
				why = append(why, r.Error)
			}
		}
		if len(why) != 2 || !strings.Contains(why[0], "said nothing") || why[1] != "not JSON" {
			t.Errorf("why: %q", why)
		}
	})
}

func TestNoChildAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run()
		b.started(time.Minute)
		for range cap(b.fills) {
			b.Fill(Span{})
		}
		if b.Fill(Span{}) {
			t.Error("takes more questions than anybody could answer")
		}
		b.end(t)
		if b.starts < 4 || b.said[0].Kind != KindFailed || b.said[0].Error != "no such file" {
			t.Errorf("%d starts, %+v", b.starts, b.said[0])
		}
	})
}

func TestRequests(t *testing.T) {
	for line, want := range map[string]string{
		`nonsense`: "nonsense",
		`{}`:       "one of the fields",
		`{"follow":{"boot":"a"},"fill":{"boot":"a"}}`: "one of the fields",
		`{"follow":{"boot":"a"}}`:                     "",
	} {
		if _, err := ParseRequest([]byte(line)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

func TestGarbledReports(t *testing.T) {
	for line, want := range map[string]string{
		`nonsense`:                  "nonsense",
		`{"v":2,"kind":"alive"}`:    "field v: 2",
		`{"v":1,"kind":"filled"}`:   "its part is missing",
		`{"v":1,"kind":"whatever"}`: "unknown",
		`{"v":1,"kind":"alive"}`:    "",
	} {
		if _, err := parseReport([]byte(line)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"entries","cursor":"c","entries":[{"origin":"kernel","micros":7,"text":"YQ=="}]}`))
	f.Add([]byte(`{"v":1,"kind":"filled","span":{"boot":"b","from":1,"to":2},"done":true}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseReport(line)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := r.Write(&again); err != nil {
			t.Fatal(err)
		}
		if _, err := parseReport(bytes.TrimSpace(again.Bytes())); err != nil {
			t.Errorf("%q reads back as %v", again.Bytes(), err)
		}
	})
}
