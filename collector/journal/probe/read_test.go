package probe

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

const (
	fabric = "nvidia-fabricmanager.service"
	failed = "d9b373ed55a64feb8242e02dbe79a49c"
)

// What is read says who wrote it; what only pretends to is not read at all.
func TestOnlyWhatJournaldVouchesFor(t *testing.T) {
	long := "NVRM: " + strings.Repeat("0123456789", 700)
	endless := strings.Repeat("x", 3*journal.MaxText)
	root, _ := directory(t,
		record(1, "NVRM: of another boot").with(fields{"_BOOT_ID": journalBoot(otherBoot)}),
		record(2, "NVRM: one"),
		record(3, "no facility").with(fields{"SYSLOG_FACILITY": "0"}),
		record(4, "NVRM: notice of\nthree\nlines"),
		record(5, "NVRM: not \xff\xfe UTF-8"),
		record(6, long),
		record(7, "Xid forged").with(fields{"SYSLOG_FACILITY": "1", "SYSLOG_IDENTIFIER": "NVRM"}),
		record(8, "with a pid").with(fields{"SYSLOG_FACILITY": "3", "SYSLOG_IDENTIFIER": "agent", "SYSLOG_PID": "17"}),
		fields{"_TRANSPORT": "journal", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": "NVRM: Xid by the native protocol"},
		fields{"_TRANSPORT": "syslog", "SYSLOG_FACILITY": "0", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": "NVRM: Xid by syslog"},
		fields{"_TRANSPORT": "stdout", "MESSAGE": "NVRM: Xid that an agent quotes"},
		fields{"_TRANSPORT": "driver", "MESSAGE_ID": messageMissed, "MESSAGE": "Missed 12 kernel messages"},
		fields{"_TRANSPORT": "journal", "MESSAGE_ID": messageMissed, "MESSAGE": "Missed 99 kernel messages"},
		fields{"_TRANSPORT": "stdout", "_SYSTEMD_UNIT": fabric, "MESSAGE": "from the unit"},
		fields{"_TRANSPORT": "stdout", "_SYSTEMD_UNIT": "other.service", "MESSAGE": "from another unit"},
		fields{"_TRANSPORT": "journal", "_PID": "1", "UNIT": fabric, "MESSAGE_ID": failed, "MESSAGE": "Failed with result"},
		fields{"_TRANSPORT": "journal", "_PID": "77", "UNIT": fabric, "MESSAGE_ID": failed, "MESSAGE": "forged by a process"},
		record(9, endless),
		record(10, "end"),
	)
	s := serve(t, Config{Paths: []string{root}, Kernel: true, Units: []string{fabric}})
	s.follow(journal.Place{})
	got, _ := s.entries("end")
	for i := range got {
		if got[i].Origin != journal.Kernel || got[i].Missed > 0 {
			got[i].Micros = 0 // journald's own clock
		}
	}
	kernel := func(micros uint64, text string) journal.Entry {
		return journal.Entry{Origin: journal.Kernel, Micros: micros, Text: []byte(text)}
	}
	user := func(micros uint64, text string) journal.Entry {
		return journal.Entry{Origin: journal.Kernel, Micros: micros, Text: []byte(text), Userspace: true}
	}
	want := []journal.Entry{
		kernel(2, "NVRM: one"), kernel(3, "no facility"), kernel(4, "NVRM: notice of\nthree\nlines"),
		kernel(5, "NVRM: not \xff\xfe UTF-8"), kernel(6, long),
		user(7, "NVRM: Xid forged"), user(8, "agent[17]: with a pid"),
		{Origin: journal.Kernel, Missed: 12},
		{Origin: journal.Unit, Unit: fabric, Text: []byte("from the unit")},
		{Origin: journal.Manager, Unit: fabric, MessageID: failed, Text: []byte("Failed with result")},
		kernel(9, endless[:journal.MaxText]), kernel(10, "end"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestKataOnlyWhereItIsAsked(t *testing.T) {
	guest := fields{"_TRANSPORT": "stdout", "_SYSTEMD_UNIT": kataUnit,
		"MESSAGE": `time="x" level=debug msg="reading guest console" sandbox=1 vmconsole="[    5.4] NVRM: Xid (PCI:0000:01:00): 79, gone"`}
	root, _ := directory(t, guest, fields{"_TRANSPORT": "stdout", "_SYSTEMD_UNIT": kataUnit, "MESSAGE": "something else"}, record(9, "end"))
	for _, kata := range []bool{false, true} {
		s := serve(t, Config{Paths: []string{root}, Kernel: true, Kata: kata})
		s.follow(journal.Place{})
		got, _ := s.entries("end")
		if heard := len(got) == 2 && got[0].Origin == journal.Kata && string(got[0].Text) == "NVRM: Xid (PCI:0000:01:00): 79, gone"; heard != kata {
			t.Errorf("kata %v: %q", kata, texts(got))
		}
	}
}

func TestGoesOnAtTheCursor(t *testing.T) {
	root, file := directory(t, record(1, "one"), record(2, "two"))
	cfg := Config{Paths: []string{root}, Kernel: true}
	s := serve(t, cfg)
	s.follow(journal.Place{})
	_, cursor := s.entries("two")

	write(t, file, record(3, "three"), record(4, "end"))
	s = serve(t, cfg)
	s.follow(journal.Place{Cursor: cursor, After: 2})
	if got, _ := s.entries("end"); !slices.Equal(texts(got), []string{"three", "end"}) || got[0].Missed > 0 {
		t.Errorf("read %+v behind the cursor", got)
	}
}

// A cursor that is gone costs no record and doubles none, where the journal
// still has what was handled; else it says that something is missing.
func TestCursorIsGone(t *testing.T) {
	gone, _ := directory(t, record(1, "one"))
	s := serve(t, Config{Paths: []string{gone}, Kernel: true})
	s.follow(journal.Place{})
	_, cursor := s.entries("one")

	root, _ := directory(t, record(3, "three"), record(4, "four"), record(5, "end"))
	for _, c := range []struct {
		name   string
		place  journal.Place
		want   []string
		missed uint64
	}{
		{"first start", journal.Place{}, []string{"three", "four", "end"}, 0},
		{"nothing was vacuumed", journal.Place{Cursor: cursor, After: 3}, []string{"four", "end"}, 0},
		{"our place was vacuumed", journal.Place{Cursor: cursor, After: 2}, []string{"three", "four", "end"}, 1},
		{"another boot's", journal.Place{Cursor: cursor}, []string{"three", "four", "end"}, 0},
		{"no cursor at all", journal.Place{Cursor: "nonsense", After: 4}, []string{"end"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, Config{Paths: []string{root}, Kernel: true})
			s.follow(c.place)
			got, _ := s.entries("end")
			if !slices.Equal(texts(got), c.want) || got[0].Missed != c.missed {
				t.Errorf("read %+v, want %q, the first behind %d missed", got, c.want, c.missed)
			}
		})
	}
}

// Volatile first, persistent once that has the boot, whatever machine they are
// of.
func TestTheFirstPathThatHasTheBoot(t *testing.T) {
	volatile, _ := directory(t, record(1, "volatile"))
	other, _ := directory(t, record(1, "old").with(fields{"_BOOT_ID": journalBoot(otherBoot)}))
	missing := filepath.Join(t.TempDir(), "missing")
	s := serve(t, Config{Paths: []string{missing, other, volatile}, Kernel: true})
	s.follow(journal.Place{})
	if r := s.next(); r.Kind != journal.KindOpened || r.Path != volatile {
		t.Errorf("%+v, want %s opened", r, volatile)
	}
}

func TestNoJournalSaysSo(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	s := serve(t, Config{Paths: []string{missing}, Kernel: true})
	s.follow(journal.Place{})
	if r := s.next(); r.Kind != journal.KindFailed || !strings.Contains(r.Error, missing) {
		t.Errorf("%+v, want a failure that names %s", r, missing)
	}
}

func TestFill(t *testing.T) {
	var entries []fields
	for i := range 300 {
		entries = append(entries, record(uint64(100+i), fmt.Sprintf("record %d", i)))
	}
	entries = append(entries, fields{"_TRANSPORT": "driver", "MESSAGE_ID": messageMissed, "MESSAGE": "Missed 1 kernel messages"})
	root, _ := directory(t, entries...)
	s := serve(t, Config{Paths: []string{root}})
	for _, c := range []struct {
		span     journal.Span
		from, to int
	}{
		{journal.Span{Boot: thisBoot, From: 0, To: 103}, 0, 3},
		{journal.Span{Boot: thisBoot, From: 110, To: 250}, 10, 150},
	} {
		s.ask(journal.Request{Fill: &c.span})
		var got, want []string
		for done := false; !done; {
			r := s.next()
			if r.Kind != journal.KindFilled || *r.Span != c.span || r.Error != "" {
				t.Fatalf("%+v", r)
			}
			got, done = append(got, texts(r.Entries)...), r.Done
		}
		for i := c.from; i <= c.to; i++ {
			want = append(want, fmt.Sprintf("record %d", i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("span %+v: %d records, want %d", c.span, len(got), len(want))
		}
	}
}

func TestBatchesFitTheParentsBuffer(t *testing.T) {
	var b batch
	for !b.full() {
		b.add(journal.Entry{Origin: journal.Manager, Unit: strings.Repeat("u", 255), MessageID: failed, Micros: 1 << 60,
			Text: bytes.Repeat([]byte{0xff}, journal.MaxText)})
	}
	var line bytes.Buffer
	if err := (journal.Report{Kind: journal.KindEntries, Entries: b.entries, Cursor: strings.Repeat("c", 512)}).Write(&line); err != nil {
		t.Fatal(err)
	}
	if line.Len() > journal.MaxLine {
		t.Errorf("a line of %d bytes, more than %d", line.Len(), journal.MaxLine)
	}
}
