package kernlog

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// DefaultPath is the kernel's log.
const DefaultPath = "/dev/kmsg"

// Source names where the kernel is heard.
type Source string

// The sources.
const (
	// Auto is Kmsg where that can be opened at the start, else FromJournal.
	Auto Source = "auto"
	// Kmsg is /dev/kmsg; what it lost is looked up in the journal.
	Kmsg Source = "kmsg"
	// FromJournal is the systemd journal.
	FromJournal Source = "journal"
	// Both are heard at once, each record once.
	Both Source = "both"
)

// Valid says whether s is one of the sources.
func (s Source) Valid() bool { return s == Auto || s == Kmsg || s == FromJournal || s == Both }

// Config says which log to hear and from where.
type Config struct {
	// Source is Kmsg where it is empty.
	Source Source
	// Path is /dev/kmsg or a file of records in its format.
	Path string
	// BootIDPath is read at each opening of the log.
	BootIDPath string
	// AcceptUserspace delivers records that user space wrote, which any root
	// process can forge: for tests that inject faults.
	AcceptUserspace bool
	// From is the bookmark that was saved last.
	From Bookmark
	// Journal makes the journal's reader, which follows the kernel's records only
	// where it is asked to; nil where there is none.
	Journal func(followKernel bool) Journal
	// Log hears of a reader that had gone deaf without knowing; nil is nobody.
	Log *slog.Logger
}

// Journal is the systemd journal, from a distance: see package journal.
type Journal interface {
	Run(ctx context.Context, from journal.Place, out func(journal.Report)) error
	Fill(journal.Span) bool
}

// choose turns Auto into what can be heard here and now. Where nothing can, it
// is /dev/kmsg that is waited for.
func (cfg Config) choose() (Source, error) {
	switch cfg.Source {
	case "", Kmsg:
		return Kmsg, nil
	case FromJournal, Both:
		if cfg.Journal == nil {
			return "", fmt.Errorf("kernel log: source %s without a journal", cfg.Source)
		}
		return cfg.Source, nil
	case Auto:
		src, err := openSource(cfg.Path, nil)
		if err == nil {
			src.close()
		}
		if err != nil && cfg.Journal != nil {
			if cfg.Log != nil {
				cfg.Log.Warn("the kernel's device cannot be opened: the journal is heard instead", "error", err)
			}
			return FromJournal, nil
		}
		return Kmsg, nil
	}
	return "", fmt.Errorf("kernel log: %q is no source", cfg.Source)
}
