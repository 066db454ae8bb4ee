package host

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The agent dies between a record and its change, or right behind the change: the
// next one puts back what there is to put back, as often as it is asked to.
func TestUndoAfterACrash(t *testing.T) {
	const persistence = "persistence 0000:43:00.0"
	tests := []struct {
		name   string
		undo   []string
		change func(*testing.T, *bench)
	}{
		{"before anything", nil, func(*testing.T, *bench) {}},
		{"before the services were paused", []string{"operands"}, func(*testing.T, *bench) {}},
		{"behind it", []string{"operands"}, func(_ *testing.T, b *bench) { b.operands.paused = true }},
		{"before persistence mode was off", []string{"operands", persistence}, func(_ *testing.T, b *bench) { b.operands.paused = true }},
		{"behind it", []string{"operands", persistence}, func(t *testing.T, b *bench) {
			b.operands.paused = true
			must(t, b.Set("1", "persistence", "0"))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.sick(t, "1")
			test.change(t, b)
			deed := b.deed(t, 1)
			deed.Undo, deed.Undoing = test.undo, true
			for range 2 {
				must(t, b.Undo(t.Context(), deed))
				b.restored(t)
			}
			if b.cured(t, "1") {
				t.Error("undoing has reset the GPU")
			}
		})
	}
}

// A GPU that is off the bus has no persistence mode to restore; one that the tool
// cannot be asked about has.
func TestUndoOfAGPUThatIsGone(t *testing.T) {
	b := newBench(t)
	deed := b.deed(t, 1)
	deed.Undo = []string{"persistence 0000:43:00.0"}
	must(t, b.Lose("1"))
	must(t, b.Undo(t.Context(), deed))
	deed.Undo = []string{"persistence 0000:ff:00.0"}
	must(t, b.Undo(t.Context(), deed))
	b.Config.SMI = "/nonexistent/nvidia-smi"
	if err := b.Undo(t.Context(), deed); err == nil {
		t.Error("no error without the tool")
	}
}

// One thing that cannot be put back does not keep the others.
func TestUndoGoesOn(t *testing.T) {
	b := newBench(t)
	must(t, b.Set("1", "persistence", "0"))
	deed := remediate.Deed{Undo: []string{"persistence 0000:43:00.0", "the moon"}}
	if err := b.Undo(t.Context(), deed); err == nil || err.Error() != `put back "the moon": not a word of a reset` {
		t.Errorf("error %v", err)
	}
	b.restored(t)

	b.Operands = nil
	deed.Undo = []string{"operands"}
	if err := b.Undo(t.Context(), deed); err == nil {
		t.Error("services that are not configured any more are restored")
	}
}
