package diag

import (
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func TestFor(t *testing.T) {
	gpus := []fault.Device{{PCI: xidparse.PCI{Bus: 0x3b}, UUID: "GPU-1"}}
	for _, c := range []struct {
		name   string
		v      fault.Verdict
		level  int
		atMost time.Duration
	}{
		{"a reset is checked at level 2", fault.Verdict{ID: "b-1", Diag: 2, GPUs: gpus}, 2, 10*time.Minute + 30*time.Second},
		{"a lost GPU at level 3", fault.Verdict{ID: "b-1", Diag: 3, GPUs: gpus}, 3, 35 * time.Minute},
		{"a record needs none", fault.Verdict{ID: "b-1", GPUs: gpus}, 0, 0},
		{"an echo needs none", fault.Verdict{ID: "b-1", Diag: 2, GPUs: gpus, Root: "b-0"}, 0, 0},
		{"what is over needs none", fault.Verdict{ID: "b-1", Diag: 2, GPUs: gpus, Closed: true}, 0, 0},
		{"no GPU, no diagnosis", fault.Verdict{ID: "b-1", Diag: 2}, 0, 0},
	} {
		r, ok := For(c.v)
		if ok != (c.level > 0) || r.Level != c.level || r.AtMost != c.atMost {
			t.Errorf("%s: %+v, %v", c.name, r, ok)
		}
	}
}
