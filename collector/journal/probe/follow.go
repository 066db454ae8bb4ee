package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/sdjournal"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

const (
	// glance is how long an entry may lie unseen. journald itself tells of new
	// ones only every 250 ms, and inotify says nothing over some mounts. Where the
	// kernel is followed, somebody waits for it.
	glance       = time.Second
	kernelGlance = 100 * time.Millisecond
	// review is how often a better directory is looked for.
	review = 30 * time.Second
	// retry is the pause before a journal that cannot be read is opened again.
	retry = 2 * time.Second
)

// follower reads on from a place, over all openings.
type follower struct {
	*probe
	place journal.Place
	batch batch
	said  time.Time
	// live says that the end was reached: what comes now is news.
	live bool
	// reviewed is when a better directory was looked for last.
	reviewed time.Time
}

// follow reads until ctx is done or the parent no longer hears.
func (p *probe) follow(ctx context.Context, from journal.Place) error {
	f := &follower{probe: p, place: from, reviewed: time.Now()}
	for ctx.Err() == nil {
		err := f.opening(ctx)
		if errors.Is(err, errDeaf) {
			return err
		}
		if err == nil {
			continue
		}
		if err := f.say(journal.Report{Kind: journal.KindFailed, Error: err.Error()}); err != nil {
			return err
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// errDeaf says that what was read cannot be told.
var errDeaf = errors.New("the parent does not hear")

// opening reads one opening of the journal, until it must be opened anew.
func (f *follower) opening(ctx context.Context) error {
	j, path, empty, err := f.open(f.place.Boot, f.cfg.Kernel)
	if err != nil {
		return err
	}
	defer shut(j)
	if err := f.tell(journal.Report{Kind: journal.KindOpened, Path: path, Empty: empty && f.cfg.Kernel}); err != nil {
		return err
	}
	resumed, err := seek(j, f.place.Cursor)
	if err != nil {
		return err
	}
	return f.read(ctx, j, path, resumed)
}

// read reads until the journal was rotated, a better one may be there, or an
// error. Where the cursor was gone it passes over what was handled.
func (f *follower) read(ctx context.Context, j *sdjournal.Journal, path string, resumed bool) error {
	after := f.place.After
	first := !resumed && after > 0
	for ctx.Err() == nil {
		e, err := f.next(j)
		if err != nil {
			return err
		}
		if e != nil {
			if resumed || e.Origin != journal.Kernel || e.Micros > after {
				// A journal whose first record is news begins behind our place.
				if first && e.Origin == journal.Kernel && e.Missed == 0 {
					e.Missed = 1
				}
				f.batch.add(*e)
			}
			first = first && e.Origin != journal.Kernel
			if !f.batch.full() {
				continue
			}
		}
		if err := f.flush(); err != nil {
			return err
		}
		if e != nil {
			continue
		}
		if err := f.arrive(); err != nil {
			return err
		}
		if f.rest(j) || f.better(path) {
			return nil
		}
	}
	return nil
}

// arrive says, once, that the end was reached.
func (f *follower) arrive() error {
	if f.live {
		return nil
	}
	f.live = true
	return f.tell(journal.Report{Kind: journal.KindEntries})
}

// rest waits for news; true says that the journal must be opened anew.
func (f *follower) rest(j *sdjournal.Journal) bool {
	patience := glance
	if f.cfg.Kernel {
		patience = kernelGlance
	}
	return j.Wait(patience) == sdjournal.SD_JOURNAL_INVALIDATE
}

// better says whether a directory that is preferred to path has the boot now, as
// the persistent one has once journald is done with the volatile one.
func (f *follower) better(path string) bool {
	if time.Since(f.reviewed) < review {
		return false
	}
	f.reviewed = time.Now()
	for _, preferred := range f.cfg.Paths[:slices.Index(f.cfg.Paths, path)] {
		if j, some, err := f.openOne(preferred, f.place.Boot, f.cfg.Kernel); err == nil {
			shut(j)
			if some {
				return true
			}
		}
	}
	return false
}

// next reads one entry, nil at the end for now. An entry that cannot be read may
// have been any: it counts as missed.
func (f *follower) next(j *sdjournal.Journal) (*journal.Entry, error) {
	for {
		n, err := j.Next()
		if err != nil || n == 0 {
			return nil, err
		}
		raw, err := j.GetEntry()
		if err != nil {
			return &journal.Entry{Origin: journal.Kernel, Micros: f.place.After, Missed: 1}, nil
		}
		f.place.Cursor = raw.Cursor
		if e, ok := f.cfg.read(raw); ok {
			if e.Origin == journal.Kernel {
				f.place.After = max(f.place.After, e.Micros)
			}
			return &e, nil
		}
	}
}

// flush tells what has been read; a journal that says nothing is told now and
// then to be alive.
func (f *follower) flush() error {
	if len(f.batch.entries) > 0 {
		err := f.tell(journal.Report{Kind: journal.KindEntries, Entries: f.batch.entries, Cursor: f.place.Cursor, Backlog: !f.live})
		f.batch.reset()
		return err
	}
	if time.Since(f.said) < journal.AliveEvery {
		return nil
	}
	return f.tell(journal.Report{Kind: journal.KindAlive})
}

func (f *follower) tell(r journal.Report) error {
	f.said = time.Now()
	if err := f.say(r); err != nil {
		return fmt.Errorf("%w: %w", errDeaf, err)
	}
	return nil
}

// seek goes to the entry at the cursor, so that the next is the first new one;
// false where that entry is gone, and then the next is the boot's first. A seek
// to a cursor that is gone succeeds, and ends somewhere near.
func seek(j *sdjournal.Journal, cursor string) (bool, error) {
	if cursor != "" {
		if err := j.SeekCursor(cursor); err == nil {
			n, err := j.Next()
			if err != nil {
				return false, err
			}
			if n > 0 && j.TestCursor(cursor) == nil {
				return true, nil
			}
		}
	}
	return false, j.SeekHead()
}
