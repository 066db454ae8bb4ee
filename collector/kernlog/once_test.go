package kernlog

import (
	"testing"
)

func TestOnceMatchesEachRecordOnce(t *testing.T) {
	o := newOnce()
	for i, step := range []struct {
		from   side
		micros uint64
		text   string
		fresh  bool
	}{
		{kmsgSide, 1, "a", true},
		{kmsgSide, 1, "a", true}, // the kernel can say the same twice in a microsecond
		{journalSide, 1, "a", false},
		{journalSide, 1, "a", false},
		{journalSide, 1, "a", true}, // a third, that the device has not had yet
		{kmsgSide, 1, "a", false},
		{journalSide, 2, "a", true},
		{kmsgSide, 2, "b", true},
		{kmsgSide, 2, " a ", false}, // the journal's texts have no blanks around them
		{kmsgSide, 2, "a", true},
	} {
		if got := o.fresh(step.from, step.micros, []byte(step.text)); got != step.fresh {
			t.Errorf("step %d: fresh %v, want %v", i, got, step.fresh)
		}
	}
}

func TestOnceForgets(t *testing.T) {
	o := newOnce()
	for i := range 5 * shelfSize {
		o.fresh(kmsgSide, uint64(i), []byte("x"))
	}
	if n := len(o.waiting[kmsgSide].young) + len(o.waiting[kmsgSide].old); n > 2*shelfSize {
		t.Errorf("%d records remembered", n)
	}
	if o.fresh(journalSide, 4*shelfSize+1, []byte("x")) {
		t.Error("a record of the last shelf was forgotten")
	}
	if !o.fresh(journalSide, 1, []byte("x")) {
		t.Error("an old record was not forgotten")
	}
}

func TestInsideCountsWhatTheJournalHadFirst(t *testing.T) {
	o := newOnce()
	for _, micros := range []uint64{10, 11, 12, 12, 13, 14} {
		o.fresh(journalSide, micros, []byte("x"))
	}
	if n := o.inside(10, 14, 3); n != 3 {
		t.Errorf("%d inside, want no more than 3", n)
	}
	if n := o.inside(10, 14, 100); n != 1 {
		t.Errorf("%d inside, want the fourth", n)
	}
	if n := o.inside(10, 14, 100); n != 0 {
		t.Errorf("%d counted twice", n)
	}
}

func BenchmarkOnce(b *testing.B) {
	o := newOnce()
	text := []byte("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
	b.ReportAllocs()
	for i := range b.N {
		o.fresh(kmsgSide, uint64(i), text)
	}
}
