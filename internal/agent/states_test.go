package agent

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
)

// only makes a change to one GPU.
func only(gpu int, change func(*nvml.GPU)) func(*nvml.GPU) {
	return func(g *nvml.GPU) {
		if g.Index == gpu {
			change(g)
		}
	}
}

// Before Ampere pages are retired: one that waits is for an idle window, and too
// many are a part to be replaced.
func TestRetiredPages(t *testing.T) {
	retired := func(dbe int, pending bool) func(*nvml.GPU) {
		return only(2, func(g *nvml.GPU) {
			sbe := 3
			g.Remap, g.Retired = nil, &nvml.Retired{SingleBit: &sbe, DoubleBit: &dbe, Pending: &pending}
		})
	}
	for name, c := range map[string]struct {
		change   func(*nvml.GPU)
		want     []string
		cordoned bool
	}{
		"some":      {retired(59, false), nil, false},
		"one waits": {retired(1, true), []string{"remap-pending"}, false},
		"too many":  {retired(60, false), []string{"remap-failed"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start()
				s.polls(3, c.change)
				if got := incidents(s); !slices.Equal(got, c.want) || s.world.cordoned() != c.cordoned {
					t.Errorf("judged %q, cordoned %v; want %q, %v", got, s.world.cordoned(), c.want, c.cordoned)
				}
				s.stop()
			})
		})
	}
}

// A value that the GPU has told and that is "Unknown Error" now, poll after poll,
// is a fault of that GPU; on every GPU it is nobody's.
func TestUnknownErrors(t *testing.T) {
	watts := 71.5
	told := func(g *nvml.GPU) { g.Power.Watts = &watts }
	unknown := func(code int) func(*nvml.GPU) {
		return func(g *nvml.GPU) { g.Power.Watts, g.Failed = nil, map[nvml.Value]int{nvml.ValuePower: code} }
	}
	without := func(g *nvml.GPU) { g.Power.Watts = nil }
	for name, c := range map[string]struct {
		before, change func(*nvml.GPU)
		want           fault.Action // None for no fault
	}{
		"one GPU":       {told, only(3, unknown(errUnknown)), fault.Cordon},
		"every GPU":     {told, unknown(errUnknown), fault.Hold},
		"never told":    {without, only(3, unknown(errUnknown)), fault.None},
		"not supported": {told, only(3, without), fault.None},
		"impossible":    {told, only(3, unknown(nvml.Impossible)), fault.None},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start()
				s.polls(1, c.before)
				s.polls(3, c.before, c.change)
				got := s.Status().Incidents
				if c.want == fault.None {
					if len(got) > 0 {
						t.Errorf("judged %q", incidents(s))
					}
				} else if len(got) != 1 || got[0].Verdict.Class != fault.GPUFailed || got[0].Verdict.Action != c.want || s.world.cordoned() != (c.want == fault.Cordon) {
					t.Errorf("judged %+v, cordoned %v", got, s.world.cordoned())
				}
				s.polls(4+int(probation/period), c.before)
				if got := incidents(s); len(got) > 0 || s.world.cordoned() {
					t.Errorf("told again, and yet %q, cordoned %v", got, s.world.cordoned())
				}
				s.stop()
			})
		})
	}
}
