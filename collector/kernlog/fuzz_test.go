package kernlog

import (
	"bytes"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// FuzzReader plays any bytes as a log, a record a line, and holds the reader to
// its books.
func FuzzReader(f *testing.F) {
	f.Add([]byte("4,0,5,-;a\n4,1,5,c;NVRM: Xid (PCI:0000:3b:00): 79\n12,2,5,-;user\n4,9,5,-;\\x0a\n"), true)
	f.Add([]byte("4,18446744073709551615,5,-;a\n;\n4,5;\n4,5,6;\n4,4,6;\n"), false)
	f.Fuzz(func(t *testing.T, log []byte, accept bool) {
		lines := bytes.SplitAfter(log, []byte("\n"))
		var steps []step
		for _, line := range lines {
			steps = append(steps, step{record: string(line)})
		}
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, Config{AcceptUserspace: accept}, opening{steps: append(steps, fails(unix.EAGAIN))})
			defer s.end()
			got := s.State()
			if got.Read+got.Garbled+got.Oversized != uint64(len(lines)) {
				t.Errorf("%d lines, state %+v", len(lines), got)
			}
			checkDelivered(t, s.got, lines, got)
		})
	})
}

func checkDelivered(t *testing.T, records []Record, lines [][]byte, state State) {
	t.Helper()
	var lost, silent uint64
	for _, rec := range records {
		lost += rec.Lost
		if rec.Userspace && len(rec.Text) == 0 {
			silent++
		}
		if len(rec.Text) > 0 && !said(lines, rec) {
			t.Errorf("delivered %s, which no line said", tell(rec))
		}
	}
	if lost != state.Lost {
		t.Errorf("records tell of %d lost, state of %d", lost, state.Lost)
	}
	if heard := uint64(len(records)); heard < state.Read-state.Foreign || heard > state.Read-state.Foreign+silent {
		t.Errorf("delivered %d, state %+v", heard, state)
	}
}

func said(lines [][]byte, rec Record) bool {
	for _, line := range lines {
		k, err := xidparse.CutKmsg(line)
		if err == nil && k.Sequence == rec.Sequence && bytes.Equal(xidparse.UnescapeKmsg(nil, k.Text), rec.Text) {
			return true
		}
	}
	return false
}
