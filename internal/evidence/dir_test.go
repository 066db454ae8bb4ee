package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

var opened = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func line(text string) Piece {
	return Piece{Kind: KindLine, At: opened, Line: &Line{Boot: "b", Sequence: 1, Text: text}}
}

func verdict(id string) Piece {
	return Piece{Kind: KindVerdict, At: opened, Verdict: &fault.Verdict{ID: id, Class: fault.XID79, Opened: opened}}
}

func end() Piece { return Piece{Kind: KindEnd, At: opened} }

func put(t *testing.T, d *Dir, id string, pieces ...Piece) {
	t.Helper()
	if err := d.Append(id, pieces); err != nil {
		t.Fatal(err)
	}
}

// age makes a bundle so many hours old.
func age(t *testing.T, d *Dir, id string, hours int) {
	t.Helper()
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(d.Path(id), at, at); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, d *Dir, id string) Bundle {
	t.Helper()
	text, err := d.Raw(id)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(id, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ids lists the folder.
func ids(t *testing.T, d *Dir) string {
	t.Helper()
	list, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, s := range list {
		have[s.ID] = true
	}
	return strings.Trim(fmt.Sprint(have), "map[]")
}

func TestTheOldestThatHasEndedGoesFirst(t *testing.T) {
	d := NewDir(t.TempDir(), Limits{Keep: 3, MaxBytes: 1 << 20})
	put(t, d, "open", verdict("open"))
	put(t, d, "old", verdict("old"), end())
	put(t, d, "young", verdict("young"), end())
	age(t, d, "open", 9)
	age(t, d, "old", 5)
	age(t, d, "young", 1)
	put(t, d, "new", verdict("new"))
	if got := ids(t, d); got != "new:true open:true young:true" {
		t.Errorf("after a fourth: %s", got)
	}
	put(t, d, "newer", verdict("newer"))
	put(t, d, "newest", verdict("newest"))
	if got := ids(t, d); got != "new:true newer:true newest:true" {
		t.Errorf("with none that has ended: %s", got)
	}
}

func TestTheSumIsBounded(t *testing.T) {
	const most = 64 << 10
	d := NewDir(t.TempDir(), Limits{Keep: 100, MaxBytes: most})
	for i := range 50 {
		id := fmt.Sprint(i)
		for range 20 {
			put(t, d, id, line(strings.Repeat("x", 500)))
		}
		put(t, d, id, end())
		all, err := d.bundles()
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, h := range all {
			sum += h.size
		}
		if sum > most || len(all) == 0 {
			t.Fatalf("%d bundles of %d bytes", len(all), sum)
		}
	}
}

// Lines leave room for verdicts, and a full bundle says that it is, once.
func TestABundleIsBounded(t *testing.T) {
	d := NewDir(t.TempDir(), Limits{Keep: 2, MaxBytes: 8 << 20})
	long := strings.Repeat("x", 1000)
	for range 2000 {
		put(t, d, "a", line(long))
	}
	put(t, d, "a", verdict("a"))
	for range 2000 {
		put(t, d, "a", Piece{Kind: KindVerdict, At: opened, Verdict: &fault.Verdict{ID: "a", Reason: long}})
	}
	put(t, d, "a", end())
	b := read(t, d, "a")
	info, err := os.Stat(d.Path("a"))
	if err != nil || info.Size() > MaxBundle {
		t.Fatalf("%v, %d bytes", err, info.Size())
	}
	if len(b.Of(KindVerdict)) < 100 || len(b.Of(KindMissing)) != 2 || len(b.Of(KindEnd)) != 1 || len(b.Damage) > 0 {
		t.Errorf("%d lines, %d verdicts, %d notes, %d ends, damage %q", len(b.Of(KindLine)), len(b.Of(KindVerdict)), len(b.Of(KindMissing)), len(b.Of(KindEnd)), b.Damage)
	}
}

// A bundle whose writer died in the middle of a line is whole up to the cut, and
// is gone on with.
func TestACutBundleIsGoneOnWith(t *testing.T) {
	d := NewDir(t.TempDir(), Limits{Keep: 9, MaxBytes: 1 << 20})
	put(t, d, "a", verdict("a"), line("one"), line("two"))
	whole, err := d.Raw("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path("a"), whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if b := read(t, d, "a"); len(b.Pieces) != 2 || len(b.Damage) != 1 || !strings.Contains(b.Damage[0], "line 3 is cut") {
		t.Errorf("%d pieces, damage %q", len(b.Pieces), b.Damage)
	}
	put(t, d, "a", line("three"))
	if b := read(t, d, "a"); len(b.Of(KindLine)) != 2 || len(b.Damage) != 1 || !strings.HasPrefix(b.Damage[0], "line 3") {
		t.Errorf("lines %v, damage %q", len(b.Of(KindLine)), b.Damage)
	}
}

func TestAnEndIsWrittenOnceAndCreatesNothing(t *testing.T) {
	d := NewDir(t.TempDir(), Limits{Keep: 9, MaxBytes: 1 << 20})
	put(t, d, "a", end())
	if _, err := d.Raw("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("raw: %v", err)
	}
	put(t, d, "a", verdict("a"))
	put(t, d, "a", end())
	put(t, d, "a", end())
	if n := len(read(t, d, "a").Of(KindEnd)); n != 1 {
		t.Errorf("%d ends", n)
	}
	put(t, d, "a", verdict("a"), end())
	if n := len(read(t, d, "a").Of(KindEnd)); n != 2 {
		t.Errorf("%d ends after it was opened again", n)
	}
}

// An id comes from a Node's annotation too, and is anybody's.
func TestAnIDIsNoPath(t *testing.T) {
	root := t.TempDir()
	d := NewDir(filepath.Join(root, "evidence"), Limits{Keep: 9, MaxBytes: 1 << 20})
	for _, id := range []string{"../../escape", "..", "/etc/passwd", "a\x00b", "a\nb", "%2e%2e"} {
		put(t, d, id, verdict(id))
		if b := read(t, d, id); b.Summary().ID != id {
			t.Errorf("%q is read as %q", id, b.Summary().ID)
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v beside the folder: %v", entries, err)
	}
	if err := d.Append(strings.Repeat("x", 300), []Piece{verdict("x")}); err == nil {
		t.Error("an id that is longer than a name is taken")
	}
}

// What is no bundle is listed with what is wrong, and nothing that could block is
// opened.
func TestAFolderWithOtherThings(t *testing.T) {
	d := NewDir(t.TempDir(), Limits{Keep: 9, MaxBytes: 1 << 20})
	put(t, d, "good", verdict("good"))
	if err := os.WriteFile(d.Path("bad"), []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.path, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Path("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := d.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %+v", err, list)
	}
	for _, s := range list {
		if (s.ID == "bad") != (s.Damage != "") || s.ID == "bad" && !strings.Contains(s.Damage, ErrNoBundle.Error()) {
			t.Errorf("%+v", s)
		}
	}
	if err := d.Append("folder", []Piece{verdict("folder")}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("append to a folder: %v", err)
	}
}
