package kernlog

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// fakeJournal is a journal that says what a test has it say.
type fakeJournal struct {
	follows bool
	from    journal.Place
	reports chan journal.Report
	asked   []journal.Span
	full    bool
}

func (f *fakeJournal) Run(ctx context.Context, from journal.Place, out func(journal.Report)) error {
	f.from = from
	for {
		select {
		case r := <-f.reports:
			out(r)
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *fakeJournal) Fill(s journal.Span) bool {
	f.asked = append(f.asked, s)
	return !f.full
}

func (f *fakeJournal) say(r journal.Report) {
	f.reports <- r
	synctest.Wait()
}

// hearer runs a Log in a synctest bubble, its device scripted.
type hearer struct {
	*Log
	journal *fakeJournal
	mu      sync.Mutex
	told    []string
	others  []string
	mark    Bookmark
	refuse  error
	stop    context.CancelFunc
	done    chan error
}

func hearing(t *testing.T, cfg Config, steps ...step) *hearer {
	t.Helper()
	h := &hearer{journal: &fakeJournal{reports: make(chan journal.Report)}, done: make(chan error, 1)}
	cfg.Path, cfg.BootIDPath = filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "boot_id")
	setBoot(t, cfg.BootIDPath, "boot")
	cfg.Journal = func(follow bool) Journal {
		h.journal.follows = follow
		return h.journal
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Log = l
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	if l.reader != nil {
		l.reader.monotonic = clockAt(opened)
		l.reader.open = func(w *waker) (source, error) { return &silent{script{steps: steps}, w}, nil }
	}
	go func() { h.done <- l.Run(ctx, h.handle) }()
	synctest.Wait()
	return h
}

func (h *hearer) handle(b Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range b.Records {
		h.told = append(h.told, tell(r))
	}
	for _, e := range b.Others {
		h.others = append(h.others, string(e.Text))
	}
	h.mark = b.Mark
	return h.refuse
}

func (h *hearer) end(t *testing.T) {
	t.Helper()
	h.stop()
	if err := <-h.done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

func kernelEntry(micros uint64, text string) journal.Entry {
	return journal.Entry{Origin: journal.Kernel, Micros: micros, Text: []byte(text)}
}

// What the device lost is asked for, told when it is found, and counted as lost
// only when it is known that nobody has it.
func TestLogFillsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hearing(t, Config{Source: Kmsg}, line(4, 0, "a"), fails(unix.EPIPE), line(4, 3, "d"))
		if h.journal.follows || len(h.journal.asked) != 1 {
			t.Fatalf("follows %v, asked %+v", h.journal.follows, h.journal.asked)
		}
		if got := h.Hearing(); got.Lost != 0 || got.Kmsg.Lost != 2 {
			t.Errorf("before the answer: %d lost, %d by the device", got.Lost, got.Kmsg.Lost)
		}
		span := h.journal.asked[0]
		h.journal.say(journal.Report{Kind: journal.KindFilled, Span: &span, Entries: []journal.Entry{kernelEntry(opened, "a"), kernelEntry(opened, "c")}})
		h.journal.say(journal.Report{Kind: journal.KindFilled, Span: &span, Done: true})
		if got := h.Hearing(); got.Lost != 1 || got.Filled != 1 || got.LastGap.From != 1 || got.LastGap.To != 2 || got.LastGap.Since.IsZero() {
			t.Errorf("after the answer: %+v", got)
		}
		if want := []string{"boot/0 backlog a", "boot/3 lost 2 backlog d", "boot/1 backlog c"}; !slices.Equal(h.told, want) {
			t.Errorf("told %q, want %q", h.told, want)
		}
		h.end(t)
	})
}

// A journal that takes no more questions leaves a gap open to nobody.
func TestLogThatCannotAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hearing(t, Config{Source: Kmsg})
		h.end(t)
		h = hearing(t, Config{Source: Kmsg}, line(4, 0, "a"))
		h.journal.full = true
		if err := h.fromKmsg([]Record{{Position: Position{"boot", 9}, Lost: 8, Micros: opened}}, h.handle); err != nil {
			t.Fatal(err)
		}
		if got := h.Hearing(); got.Lost != 8 {
			t.Errorf("%d lost, want 8", got.Lost)
		}
		h.end(t)
	})
}

// Where the device cannot be opened, Auto hears the journal; the reports of the
// child are the log's state.
func TestAutoTakesTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hearing(t, Config{Source: Auto, From: Bookmark{Cursor: "old", Last: Moment{"boot", 7}}})
		if h.source != FromJournal || !h.journal.follows || h.journal.from != (journal.Place{Boot: "boot", Cursor: "old", After: 7}) {
			t.Fatalf("source %s, follows %v from %+v", h.source, h.journal.follows, h.journal.from)
		}
		if got := h.Hearing(); got.Deaf == "" || !slices.Equal(got.Missing(), []string{"journal: not opened yet"}) {
			t.Errorf("before the opening: %+v", got.Missing())
		}
		h.journal.say(journal.Report{Kind: journal.KindOpened})
		h.journal.say(journal.Report{Kind: journal.KindEntries, Cursor: "new", Entries: []journal.Entry{kernelEntry(7, "handled"), kernelEntry(8, "a"),
			{Origin: journal.Kernel, Micros: 9, Missed: 3}}})
		got := h.Hearing()
		if got.Deaf != "" || got.Read != 2 || got.Lost != 3 || got.Journal.Lost != 3 || got.LastArrival.IsZero() {
			t.Errorf("after three entries: %+v", got)
		}
		if want := []string{"boot/8 a", "boot/9 lost 3 "}; !slices.Equal(h.told, want) {
			t.Errorf("told %q, want %q", h.told, want)
		}
		if want := (Bookmark{Cursor: "new", Last: Moment{"boot", 8}}); h.mark != want {
			t.Errorf("bookmark %+v, want %+v", h.mark, want)
		}
		h.journal.say(journal.Report{Kind: journal.KindFailed, Error: "SIGBUS"})
		h.journal.say(journal.Report{Kind: journal.KindOpened})
		if got := h.Hearing(); got.Deaf != "" || got.Reopened != 1 {
			t.Errorf("after its death: deaf %q, reopened %d", got.Deaf, got.Reopened)
		}
		h.end(t)
	})
}

// With both, one that is deaf is named, and the log is not.
func TestBothNameTheDeafOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hearing(t, Config{Source: Both}, line(4, 0, "a"))
		if got := h.Hearing(); got.Deaf != "" || !slices.Equal(got.Missing(), []string{"journal: not opened yet"}) {
			t.Errorf("deaf %q, missing %q", got.Deaf, got.Missing())
		}
		h.journal.say(journal.Report{Kind: journal.KindOpened})
		h.journal.say(journal.Report{Kind: journal.KindEntries, Cursor: "c", Entries: []journal.Entry{kernelEntry(opened, "a"), kernelEntry(opened, "b")}})
		if got := h.Hearing(); len(got.Missing()) > 0 || got.Duplicates != 1 {
			t.Errorf("missing %q, %d duplicates", got.Missing(), got.Duplicates)
		}
		if len(h.told) != 2 {
			t.Errorf("told %q", h.told)
		}
		h.end(t)
	})
}

// What services said before the present is told whole, and until then the
// cursor stays in front of it.
func TestOtherLogsHistoryIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hearing(t, Config{Source: FromJournal})
		unit := func(text string) journal.Entry {
			return journal.Entry{Origin: journal.Unit, Unit: "u", Text: []byte(text)}
		}
		h.journal.say(journal.Report{Kind: journal.KindEntries, Backlog: true, Cursor: "1", Entries: []journal.Entry{unit("a"), kernelEntry(5, "k")}})
		if len(h.others) > 0 || h.mark.Cursor != "" {
			t.Errorf("told %q with cursor %q before the end", h.others, h.mark.Cursor)
		}
		h.journal.say(journal.Report{Kind: journal.KindEntries, Backlog: true, Cursor: "2", Entries: []journal.Entry{unit("b")}})
		h.journal.say(journal.Report{Kind: journal.KindEntries})
		if want := []string{"a", "b"}; !slices.Equal(h.others, want) {
			t.Errorf("told %q, want %q", h.others, want)
		}
		h.journal.say(journal.Report{Kind: journal.KindEntries, Cursor: "3", Entries: []journal.Entry{unit("c")}})
		if h.mark.Cursor != "3" || len(h.others) != 3 {
			t.Errorf("told %q, cursor %q", h.others, h.mark.Cursor)
		}
		h.end(t)
	})
}

// A handler that fails ends the log, from whichever source that came.
func TestHandlerFails(t *testing.T) {
	for _, source := range []Source{FromJournal, Both} {
		synctest.Test(t, func(t *testing.T) {
			h := hearing(t, Config{Source: source})
			h.refuse = errors.New("store is full")
			h.journal.reports <- journal.Report{Kind: journal.KindEntries, Entries: []journal.Entry{kernelEntry(5, "k")}}
			if err := <-h.done; !errors.Is(err, h.refuse) {
				t.Errorf("Run: %v", err)
			}
			h.stop()
		})
	}
}

func TestSourceNeedsAJournal(t *testing.T) {
	for _, source := range []Source{FromJournal, Both, "syslog"} {
		if _, err := New(Config{Source: source, Path: DefaultPath, BootIDPath: DefaultBootIDPath}); err == nil {
			t.Errorf("%s: no error", source)
		}
	}
}
