package kernlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// now is the present in these tests: a thousand seconds after the boot.
var now = moment{at: time.Unix(1_700_000_000, 0), micros: 1_000_000_000}

// merged is a merge with all that it handed over.
type merged struct {
	*merge
	told []string
}

func merging(source Source, asks bool, from Bookmark) *merged {
	return &merged{merge: newMerge(source, asks, false, from, "boot")}
}

func (m *merged) tell(records []Record) {
	for _, r := range records {
		late := ""
		if r.Late {
			late = " late"
		}
		m.told = append(m.told, strings.TrimPrefix(tell(r), "boot/")+late)
	}
}

// device takes records "sequence micros text", each behind the one before it or
// behind a gap.
func (m *merged) device(lines ...string) (asked []journal.Span) {
	next := uint64(0)
	if m.mark.Kmsg.BootID == "boot" {
		next = m.mark.Kmsg.Sequence + 1
	}
	var records []Record
	for _, line := range lines {
		var r Record
		var text string
		if _, err := fmt.Sscanf(line, "%d %d %s", &r.Sequence, &r.Micros, &text); err != nil {
			panic(err)
		}
		r.BootID, r.Text, r.Userspace, r.Lost = "boot", []byte(text), text == "user", r.Sequence-next
		next = r.Sequence + 1
		records = append(records, r)
	}
	out, asked := m.kmsg(now, records)
	m.tell(out)
	return asked
}

// entries takes entries "micros text" of the journal.
func (m *merged) entries(backlog bool, lines ...string) {
	var list []journal.Entry
	for _, line := range lines {
		e := journal.Entry{Origin: journal.Kernel}
		var text string
		if _, err := fmt.Sscanf(line, "%d %s", &e.Micros, &text); err != nil {
			panic(err)
		}
		if n, missed := strings.CutPrefix(text, "missed="); missed {
			fmt.Sscan(n, &e.Missed)
		} else {
			e.Text, e.Userspace = []byte(text), text == "user"
		}
		list = append(list, e)
	}
	m.tell(m.journal(now, "boot", list, backlog))
}

func (m *merged) check(t *testing.T, want tally, told ...string) {
	t.Helper()
	if !slices.Equal(m.told, told) {
		t.Errorf("told %q, want %q", m.told, told)
	}
	if got := m.tally; got.Filled != want.Filled || got.Lost != want.Lost || got.Duplicates != want.Duplicates {
		t.Errorf("filled %d, lost %d, duplicates %d; want %+v", got.Filled, got.Lost, got.Duplicates, want)
	}
}

// Of four lost records the journal has two, told in their places, and the
// neighbours once; one of the two was user space's.
func TestGapIsFilled(t *testing.T) {
	m := merging(Kmsg, true, Bookmark{})
	m.device("0 100 a", "1 200 b")
	asked := m.device("6 900 g")
	want := []journal.Span{{Boot: "boot", From: 0, To: 900}}
	if !slices.Equal(asked, want) {
		t.Fatalf("asked for %+v, want %+v", asked, want)
	}
	m.entries(false, "100 a", "200 b", "300 c", "400 user", "900 g", "950 later")
	m.device("7 950 later")
	m.settle(asked[0])
	m.check(t, tally{Filled: 2, Lost: 2, Duplicates: 3}, "0 a", "1 b", "6 lost 4 g", "2 c late", "7 later")
	if g := m.LastGap; g.From != 2 || g.To != 5 || !g.At.Equal(now.at) || g.Until.Sub(g.Since) != 700*time.Microsecond {
		t.Errorf("the last gap is %+v", g)
	}
}

// Where all are found, each has the number that it had.
func TestWholeGapHasItsNumbers(t *testing.T) {
	m := merging(Kmsg, true, Bookmark{Kmsg: Position{"boot", 10}, Last: Moment{"boot", 5000}})
	asked := m.device("14 9000 d")
	m.entries(false, "5000 handled", "6000 a", "7000 b", "8000 c", "9000 d")
	m.settle(asked[0])
	m.check(t, tally{Filled: 3, Duplicates: 2}, "14 lost 3 d", "11 a late", "12 b late", "13 c late")
	if asked[0].From != 5001 {
		t.Errorf("asked from %d, where an earlier life had handled all to 5000", asked[0].From)
	}
}

// More than was lost is never filled in, whatever the journal says.
func TestNoMoreThanWasLost(t *testing.T) {
	m := merging(Kmsg, true, Bookmark{})
	asked := m.device("1 900 b")
	m.entries(false, "100 x", "200 y", "300 z")
	m.settle(asked[0])
	m.check(t, tally{Filled: 1}, "1 lost 1 b", "0 x late")
}

// A gap of history is filled with history.
func TestOldGapIsBacklog(t *testing.T) {
	m := merging(Kmsg, true, Bookmark{})
	out, ask := m.kmsg(now, []Record{{Position: Position{"boot", 1}, Micros: 900, Lost: 1, Backlog: true, Text: []byte("b")}})
	m.tell(out)
	m.entries(false, "100 a")
	m.settle(ask[0])
	m.check(t, tally{Filled: 1}, "1 lost 1 backlog b", "0 backlog a late")
}

// A gap between two lives can begin long before the record that tells of it.
func TestGapThatIsOldAndYoung(t *testing.T) {
	m := merging(Kmsg, true, Bookmark{Kmsg: Position{"boot", 10}, Last: Moment{"boot", 5000}})
	m.young = 7000
	asked := m.device("13 9000 c")
	m.entries(false, "6000 a", "8000 b")
	m.settle(asked[0])
	m.check(t, tally{Filled: 2}, "13 lost 2 c", "11 backlog a late", "12 b late")
}

// Without a journal, and where it has nothing, all is lost at once or at the end.
func TestNobodyHasIt(t *testing.T) {
	m := merging(Kmsg, false, Bookmark{})
	if asked := m.device("5 900 b"); len(asked) > 0 {
		t.Errorf("asked for %+v", asked)
	}
	m.check(t, tally{Lost: 5}, "5 lost 5 b")

	m = merging(Kmsg, true, Bookmark{})
	asked := m.device("5 900 b")
	m.check(t, tally{}, "5 lost 5 b")
	m.settle(asked[0])
	m.settle(asked[0])
	m.check(t, tally{Lost: 5}, "5 lost 5 b")
}

// Each record once, whichever source is first; what one lost comes from the
// other by itself.
func TestBoth(t *testing.T) {
	m := merging(Both, false, Bookmark{})
	m.device("0 100 a", "1 200 b")
	m.entries(false, "100 a", "200 b", "300 c", "400 d")
	m.device("2 300 c")
	m.entries(false, "500 missed=7") // the device's numbers know better
	m.device("3 400 d", "7 900 h")   // 4, 5 and 6 are lost
	m.entries(false, "600 e", "700 f", "900 h", "950 i")
	m.check(t, tally{Filled: 2, Lost: 1, Duplicates: 5}, "0 a", "1 b", "300 c", "400 d", "7 lost 3 h", "4 e late", "5 f late", "950 i")
}

// What the journal delivered before the device noticed a loss was not lost.
func TestBothJournalIsFirst(t *testing.T) {
	m := merging(Both, false, Bookmark{})
	m.device("0 100 a")
	m.entries(false, "100 a", "200 b", "300 c", "400 d")
	m.device("3 400 d")
	m.settleAll()
	m.check(t, tally{Filled: 2, Duplicates: 2}, "0 a", "200 b", "300 c", "400 d", "3 lost 2 ")
}

// A journal alone counts what journald missed, and leaves out user space.
func TestJournalAlone(t *testing.T) {
	m := merging(FromJournal, false, Bookmark{})
	m.entries(true, "100 a")
	m.entries(false, "200 b", "250 user", "300 missed=12", "400 c")
	m.check(t, tally{Lost: 12}, "100 backlog a", "200 b", "300 lost 12 ", "400 c")
	if m.mark.Last != (Moment{"boot", 400}) {
		t.Errorf("the bookmark is %+v", m.mark)
	}
}

// A later life leaves out what an earlier one handled, through whichever source
// that was; and tells as news what is young.
func TestNextLife(t *testing.T) {
	old, young := uint64(100_000_000), now.micros-1000
	m := merging(FromJournal, false, Bookmark{Kmsg: Position{"boot", 7}, Last: Moment{"boot", old}})
	m.young = now.micros - uint64(ResumeGrace.Microseconds())
	m.entries(true, fmt.Sprint(old, " handled"), fmt.Sprint(old+1, " old"), fmt.Sprint(young, " young"))
	m.check(t, tally{Duplicates: 1}, fmt.Sprint(old+1, " backlog old"), fmt.Sprint(young, " young"))

	m = merging(Kmsg, false, Bookmark{Cursor: "c", Last: Moment{"boot", old}})
	m.device(fmt.Sprint("0 ", old, " handled"), fmt.Sprint("1 ", old+1, " new"))
	m.check(t, tally{Duplicates: 1}, "1 new")

	m = merging(Kmsg, false, Bookmark{Kmsg: Position{"other", 7}, Last: Moment{"other", old}})
	m.device("0 0 first")
	m.check(t, tally{}, "0 first")
}

// While the journal alone is heard the device's place falls behind. It is given
// up, so that the device, when it is heard again, begins above what was handled.
func TestTheDevicesPlaceIsGivenUp(t *testing.T) {
	from := Bookmark{Kmsg: Position{BootID: "boot", Sequence: 9}, Last: Moment{BootID: "boot", Micros: 100}}
	mark := newMerge(FromJournal, false, false, from, "boot").mark
	if mark.Kmsg != (Position{}) || mark.Last != from.Last {
		t.Fatalf("the journal's reader saves %+v", mark)
	}
	m := newMerge(Kmsg, false, false, mark, "boot")
	records := []Record{
		{Position: Position{BootID: "boot", Sequence: 9}, Micros: 100, Text: []byte("handled")},
		{Position: Position{BootID: "boot", Sequence: 10}, Micros: 101, Text: []byte("news")},
	}
	out, _ := m.kmsg(moment{}, records)
	if len(out) != 1 || string(out[0].Text) != "news" {
		t.Errorf("delivered %+v", out)
	}
}
