package kernlog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// Batch is what was heard at once. It is its handler's until that returns.
type Batch struct {
	// Records are the kernel's.
	Records []Record
	// Others are entries of other logs, by the journal.
	Others []journal.Entry
	// Mark is where to go on once all of it is handled.
	Mark Bookmark
}

// Log hears the kernel from one source or two, every record once.
type Log struct {
	cfg    Config
	source Source
	boot   string
	// reader and journal are nil where they are not used.
	reader  *Reader
	journal Journal
	told    account // of the journal

	// mu is held while a batch is merged and handled: there is one stream.
	mu    sync.Mutex
	merge *merge
	// held is what other logs have said, until it is known to be all.
	held    []journal.Entry
	failed  error
	counted struct {
		mu sync.Mutex
		tally
	}
}

// New makes a log that is deaf until Run, and settles what it hears.
func New(cfg Config) (*Log, error) {
	source, err := cfg.choose()
	if err != nil {
		return nil, err
	}
	boot, err := BootID(cfg.BootIDPath)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, source: source, boot: boot}
	if cfg.Journal != nil {
		l.journal = cfg.Journal(source != Kmsg)
		l.told.state.deaf(errors.New("not opened yet"), time.Now())
	}
	if source != FromJournal {
		if l.reader, err = NewReader(cfg); err != nil {
			return nil, err
		}
		l.reader.all = l.journal != nil
	}
	l.merge = newMerge(source, source == Kmsg && l.journal != nil, cfg.AcceptUserspace, cfg.From, boot)
	return l, nil
}

// Run hears until ctx ends or handle fails, and returns that error. handle is
// called with one batch at a time. Run is called once.
func (l *Log) Run(ctx context.Context, handle func(Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var hearing sync.WaitGroup
	if l.reader != nil {
		hearing.Go(func() {
			defer cancel()
			err := l.reader.Run(ctx, func(records []Record) error { return l.fromKmsg(records, handle) })
			l.fail(err)
		})
	}
	if l.journal != nil {
		hearing.Go(func() {
			place := journal.Place{Boot: l.boot, Cursor: l.cfg.From.Cursor, After: l.cfg.From.Last.in(l.boot)}
			l.fail(l.journal.Run(ctx, place, func(r journal.Report) {
				if err := l.fromJournal(r, handle); err != nil {
					l.fail(err)
					cancel()
				}
			}))
		})
	}
	if l.source == Both {
		hearing.Go(func() { l.wait(ctx) })
	}
	hearing.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.failed, ctx.Err())
}

// fail keeps the first error that is more than an end.
func (l *Log) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil && !errors.Is(err, context.Canceled) {
		l.failed = err
	}
}

func (l *Log) fromKmsg(records []Record, handle func(Batch) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, ask := l.merge.kmsg(present(), records)
	for _, span := range ask {
		if !l.journal.Fill(span) {
			l.merge.settle(span)
		}
	}
	return l.hand(Batch{Records: out}, handle)
}

func (l *Log) fromJournal(r journal.Report, handle func(Batch) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := present()
	l.told.update(func(s *State) { s.saw(r, l.boot, now.at) })
	var b Batch
	switch r.Kind {
	case journal.KindOpened:
		l.merge.young = now.micros - min(now.micros, uint64(ResumeGrace.Microseconds()))
	case journal.KindEntries:
		b.Others, r.Entries = l.others(r)
		b.Records = l.merge.journal(now, l.boot, r.Entries, r.Backlog)
		if r.Cursor != "" && len(l.held) == 0 {
			l.merge.mark.Cursor = r.Cursor
		}
	case journal.KindFilled:
		b.Records = l.merge.journal(now, l.boot, r.Entries, false)
		if r.Done {
			l.merge.settle(*r.Span)
		}
	case journal.KindFailed:
		l.merge.settleAll()
	}
	return l.hand(b, handle)
}

// wait gives up, now and then, on gaps that a silent journal does not fill.
func (l *Log) wait(ctx context.Context) {
	for sleep(ctx, gapPatience/3) {
		l.mu.Lock()
		l.merge.overdue(time.Now())
		l.count()
		l.mu.Unlock()
	}
}

// count publishes what merging has made of the records so far.
func (l *Log) count() {
	l.counted.mu.Lock()
	l.counted.tally = l.merge.tally
	l.counted.mu.Unlock()
}

// hand gives a batch to its handler. One without records or entries moves the
// bookmark alone, which can wait.
func (l *Log) hand(b Batch, handle func(Batch) error) error {
	l.count()
	if len(b.Records) == 0 && len(b.Others) == 0 {
		return nil
	}
	b.Mark = l.merge.mark
	return handle(b)
}

// maxHeld bounds the other logs' history.
const maxHeld = 1024

// others parts the entries of units from those that speak for a kernel. What
// units have said before the present is handed over at once, when it is whole:
// only its end counts.
func (l *Log) others(r journal.Report) (units, kernels []journal.Entry) {
	for _, e := range r.Entries {
		if e.Origin == journal.Unit || e.Origin == journal.Manager {
			l.held = append(l.held, e)
		} else {
			kernels = append(kernels, e)
		}
	}
	l.held = l.held[max(0, len(l.held)-maxHeld):]
	if r.Backlog {
		return nil, kernels
	}
	units, l.held = l.held, nil
	return units, kernels
}

func present() moment { return moment{time.Now(), monotonicMicros()} }
