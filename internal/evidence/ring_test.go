package evidence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
)

func record(sequence uint64, text string) kernlog.Record {
	return kernlog.Record{Position: kernlog.Position{BootID: "boot", Sequence: sequence}, Text: []byte(text)}
}

func TestRingGivesWhatIsStillThere(t *testing.T) {
	for name, pad := range map[string]int{"as many records as fit": 0, "as much text as fits": 700, "texts that are cut": 3000} {
		t.Run(name, func(t *testing.T) {
			var r Ring
			const all = 3 * ringRecords
			for i := range uint64(all) {
				text := []byte(fmt.Sprintf("%d %s", i, strings.Repeat("x", pad)))
				if at := r.Add(time.Unix(int64(i), 0), []kernlog.Record{{Position: kernlog.Position{BootID: "boot", Sequence: i}, Text: text}}); at != i {
					t.Fatalf("place %d, want %d", at, i)
				}
				clear(text) // it was its owner's
			}
			lines := r.Lines(0, r.Next(), all)
			held := 0
			for n, p := range lines {
				want := uint64(all - len(lines) + n)
				text := fmt.Sprintf("%d %s", want, strings.Repeat("x", pad))
				if p.Line.Sequence != want || p.Line.Text != text[:min(len(text), maxText)] || p.At.Unix() != int64(want) {
					t.Fatalf("line %d: %+v", n, p.Line)
				}
				held += len(p.Line.Text)
			}
			if len(lines) != ringRecords && held < ringText-maxText {
				t.Errorf("%d lines of %d bytes", len(lines), held)
			}
			if got := r.Lines(all-2, all, 1); len(got) != 1 || got[0].Line.Sequence != all-2 {
				t.Errorf("the last but one: %+v", got)
			}
		})
	}
}

func TestRingLeavesOutWhatHasNoText(t *testing.T) {
	var r Ring
	r.Add(time.Now(), []kernlog.Record{record(1, "a"), {Position: kernlog.Position{Sequence: 2}, Lost: 3}, record(3, "b")})
	if got := r.Lines(0, 99, 99); len(got) != 2 || got[1].Line.Text != "b" {
		t.Errorf("%+v", got)
	}
}

// To add a line costs its copy, and no memory.
func BenchmarkRingAdd(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batches of %d", size), func(b *testing.B) {
			r := new(Ring)
			var batch []kernlog.Record
			for range size {
				batch = append(batch, record(1, "audit: type=1400 audit(1700000000.123:456): apparmor=\"STATUS\" operation=\"profile_replace\" pid=1"))
			}
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				r.Add(now, batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/line")
		})
	}
}
