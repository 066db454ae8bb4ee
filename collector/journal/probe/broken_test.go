package probe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// parent runs a real child over a directory, and gives what it reports.
func parent(t *testing.T, root string) (reports <-chan journal.Report, p *journal.Probe) {
	t.Helper()
	p = journal.New(journal.Config{Command: []string{""}, Env: []string{asChild + "=" + root, "GORACE=atexit_sleep_ms=0"}})
	ctx, stop := context.WithCancel(context.Background())
	said := make(chan journal.Report, 1<<14)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, journal.Place{Boot: thisBoot}, func(r journal.Report) { said <- r }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return said, p
}

// await gives the reports until one is what is wanted.
func await(t *testing.T, reports <-chan journal.Report, what string, wanted func(journal.Report) bool) (before []journal.Report) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case r := <-reports:
			before = append(before, r)
			if wanted(r) {
				return before
			}
		case <-late:
			t.Fatalf("%s: not in %+v", what, before)
		}
	}
}

func says(text string) func(journal.Report) bool {
	return func(r journal.Report) bool { return slices.Contains(texts(r.Entries), text) }
}

// A journal that is cut short under its reader ends the child by SIGBUS, and
// only the child: the next one leaves the file alone and doubles nothing.
func TestFileCutShortUnderTheReader(t *testing.T) {
	root, file := directory(t, record(1, "one"))
	reports, _ := parent(t, root)
	await(t, reports, "the record", says("one"))
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	await(t, reports, "the child's death", func(r journal.Report) bool {
		return r.Kind == journal.KindFailed && strings.Contains(r.Error, "SIGBUS")
	})
	write(t, filepath.Join(root, thisMachine, "next.journal"), record(1, "one"), record(2, "two"))
	for _, r := range await(t, reports, "the next record", says("two")) {
		if slices.Contains(texts(r.Entries), "one") {
			t.Errorf("read again: %+v", r)
		}
	}
}

// Garbage in one file costs at most that file, and never a record of another.
func TestGarbageInAFile(t *testing.T) {
	root, file := directory(t, record(1, "a"), record(2, "b"), record(3, "c"))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := filepath.Join(root, thisMachine, "spoilt.journal")
	for name, spoil := range map[string]func([]byte) []byte{
		"cut in half":     func(b []byte) []byte { return b[:len(b)/2] },
		"cut in the head": func(b []byte) []byte { return b[:100] },
		"empty":           func([]byte) []byte { return nil },
		"zeroed objects":  func(b []byte) []byte { clear(b[4096:]); return b },
		"noise": func(b []byte) []byte {
			for i := 300; i < len(b); i += 97 {
				b[i] ^= 0xa5
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(spoilt, spoil(slices.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			reports, p := parent(t, root)
			var all []string
			for _, r := range await(t, reports, "the last record", says("c")) {
				all = append(all, texts(r.Entries)...)
			}
			for _, want := range []string{"a", "b", "c"} {
				if !slices.Contains(all, want) {
					t.Errorf("read %q, without %q", all, want)
				}
			}
			p.Fill(journal.Span{Boot: thisBoot, From: 1, To: 2})
			for _, r := range await(t, reports, "the answer", func(r journal.Report) bool { return r.Done }) {
				all = append(all, texts(r.Entries)...)
			}
		})
	}
}
