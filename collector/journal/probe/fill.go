package probe

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/sdjournal"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// patience is how long journald may lag behind the kernel's log: what it has not
// read by then, it has lost or will never read.
const patience = 5 * time.Second

// fillAll answers one request after the other.
func (p *probe) fillAll(ctx context.Context) error {
	for {
		select {
		case span := <-p.fills:
			if err := p.fill(ctx, span); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fill tells what the kernel said in the span. A journal that cannot be read has
// nothing: the answer is then empty, and says why.
func (p *probe) fill(ctx context.Context, span journal.Span) error {
	r := journal.Report{Kind: journal.KindFilled, Span: &span, Done: true}
	j, _, _, err := p.open(span.Boot, true)
	if err == nil {
		defer shut(j)
		err = walkTo(j, span.From)
	}
	if err == nil {
		err = p.readSpan(ctx, j, span)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return p.say(r)
}

// walkTo goes back from the end to before the span. Clocks may have been set
// since, so they are of no use to find it.
func walkTo(j *sdjournal.Journal, from uint64) error {
	if from == 0 {
		return j.SeekHead()
	}
	if err := j.SeekTail(); err != nil {
		return err
	}
	for {
		n, err := j.Previous()
		if err != nil {
			return err
		}
		if n == 0 {
			return j.SeekHead()
		}
		// journald's clock is never before the kernel's at the same record.
		at, err := j.GetMonotonicUsec()
		if err != nil || at < from {
			return err
		}
	}
}

// readSpan reads to the first record behind the span, and waits for journald
// where that has not come yet.
func (p *probe) readSpan(ctx context.Context, j *sdjournal.Journal, span journal.Span) error {
	f := &follower{probe: p}
	late := time.Now().Add(patience)
	for ctx.Err() == nil {
		e, err := f.next(j)
		if err != nil {
			return err
		}
		switch {
		case e == nil:
			if err := p.filled(span, &f.batch); err != nil || time.Now().After(late) {
				return err
			}
			j.Wait(patience / 50)
			continue
		case e.Origin != journal.Kernel || e.Missed > 0 || e.Micros < span.From:
			continue
		case e.Micros > span.To:
			return p.filled(span, &f.batch)
		}
		if f.batch.add(*e); f.batch.full() {
			if err := p.filled(span, &f.batch); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (p *probe) filled(span journal.Span, b *batch) error {
	if len(b.entries) == 0 {
		return nil
	}
	err := p.say(journal.Report{Kind: journal.KindFilled, Span: &span, Entries: b.entries})
	b.reset()
	return err
}
