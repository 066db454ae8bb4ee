package probe

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// asChild makes the test binary the child itself, with the directory that it
// reads.
const asChild = "GPUHEALTHD_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(asChild); path != "" {
		if err := Run(context.Background(), os.Stdin, os.Stdout, Config{Paths: []string{path}, Kernel: true}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// served is a probe that runs in this process.
type served struct {
	t       *testing.T
	reports chan journal.Report
	in      io.WriteCloser
	ended   chan error
}

func serve(t *testing.T, cfg Config) *served {
	t.Helper()
	inside, in := io.Pipe()
	out, outside := io.Pipe()
	s := &served{t: t, reports: make(chan journal.Report, 1<<14), in: in, ended: make(chan error, 1)}
	go func() {
		s.ended <- Run(t.Context(), inside, outside, cfg)
		outside.Close()
	}()
	go func() {
		defer close(s.reports)
		for lines := json.NewDecoder(out); ; {
			var r journal.Report
			if lines.Decode(&r) != nil {
				return
			}
			s.reports <- r
		}
	}()
	t.Cleanup(func() { in.Close() })
	return s
}

func (s *served) ask(r journal.Request) {
	s.t.Helper()
	line, err := r.Line()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.in.Write(line); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) follow(p journal.Place) {
	if p.Boot == "" {
		p.Boot = thisBoot
	}
	s.ask(journal.Request{Follow: &p})
}

// next gives the next report that says something.
func (s *served) next() journal.Report {
	s.t.Helper()
	select {
	case r, ok := <-s.reports:
		if !ok {
			s.t.Fatalf("the probe ended: %v", <-s.ended)
		}
		return r
	case <-time.After(20 * time.Second):
		s.t.Fatal("the probe says nothing")
	}
	panic("unreachable")
}

// entries collects entries until one of them has a text that ends so; it gives
// the last cursor as well.
func (s *served) entries(end string) (all []journal.Entry, cursor string) {
	s.t.Helper()
	for {
		r := s.next()
		if r.Kind == journal.KindFailed {
			s.t.Fatalf("the probe failed: %s", r.Error)
		}
		if r.Kind != journal.KindEntries {
			continue
		}
		all = append(all, r.Entries...)
		if strings.HasSuffix(string(all[len(all)-1].Text), end) {
			return all, r.Cursor
		}
	}
}

func texts(entries []journal.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, string(e.Text))
	}
	return list
}
