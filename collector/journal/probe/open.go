package probe

import (
	"errors"
	"fmt"
	"os"

	"github.com/coreos/go-systemd/v22/sdjournal"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// open opens the first directory that has an entry of the boot, else the first
// that there is: entries may come. It is empty then.
func (p *probe) open(boot string, kernel bool) (j *sdjournal.Journal, path string, empty bool, err error) {
	var waiting *sdjournal.Journal
	var at string
	var failed error
	for _, path := range p.cfg.Paths {
		j, some, err := p.openOne(path, boot, kernel)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			failed = err
		case some:
			if waiting != nil {
				shut(waiting)
			}
			return j, path, false, nil
		case waiting == nil:
			waiting, at = j, path
		default:
			shut(j)
		}
	}
	if waiting != nil {
		return waiting, at, true, nil
	}
	if failed == nil {
		failed = fmt.Errorf("no journal in %q", p.cfg.Paths)
	}
	return nil, "", false, failed
}

// openOne opens a directory with the matches set, and says whether the boot has
// any entry there at all.
func (p *probe) openOne(path, boot string, kernel bool) (j *sdjournal.Journal, some bool, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, false, fmt.Errorf("journal: %w", err)
	}
	j, err = sdjournal.NewJournalFromDir(path)
	if err != nil {
		return nil, false, fmt.Errorf("journal %s: %w", path, err)
	}
	// The first wait makes the inotify watches. Older versions of libsystemd
	// leak the files that are rotated between the opening and that.
	j.Wait(0)
	if some, err = p.match(j, boot, kernel); err != nil {
		shut(j)
		return nil, false, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, some, nil
}

// shut closes a journal. That fails only where libsystemd cannot be found, and
// then there is none.
func shut(j *sdjournal.Journal) { _ = j.Close() }

// match narrows the journal to what is wanted of the boot.
func (p *probe) match(j *sdjournal.Journal, boot string, kernel bool) (some bool, err error) {
	ofBoot := "_BOOT_ID=" + journalBoot(boot)
	if err := errors.Join(j.SetDataThreshold(journal.MaxText), j.AddMatch(ofBoot), j.SeekHead()); err != nil {
		return false, err
	}
	n, err := j.Next()
	if err != nil {
		return false, err
	}
	j.FlushMatches()
	for _, group := range p.cfg.groups(kernel) {
		for _, m := range append(group, ofBoot) {
			if err := j.AddMatch(m); err != nil {
				return false, err
			}
		}
		if err := j.AddDisjunction(); err != nil {
			return false, err
		}
	}
	return n > 0, nil
}

// groups are the alternatives; all of one must hold.
func (c Config) groups(kernel bool) (groups [][]string) {
	if kernel {
		groups = append(groups, []string{"_TRANSPORT=kernel"}, []string{"_TRANSPORT=driver", "MESSAGE_ID=" + messageMissed})
	}
	for _, u := range c.Units {
		groups = append(groups, []string{"_SYSTEMD_UNIT=" + u}, []string{fieldUnitOf + "=" + u, "_PID=" + managerPID})
	}
	if c.Kata {
		groups = append(groups, []string{"_SYSTEMD_UNIT=" + kataUnit})
	}
	return groups
}
