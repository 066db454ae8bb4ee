package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// What holds a GPU down for long is recorded with that GPU, takes nothing out of
// service, and is over when it was gone for long enough.
func TestSlowdowns(t *testing.T) {
	reasons := func(bits uint64) func(*nvml.GPU) {
		return func(g *nvml.GPU) { g.Clocks.Reasons = &bits }
	}
	link := func(gen, width, use int) func(*nvml.GPU) {
		return func(g *nvml.GPU) {
			most, lanes := 5, 16
			g.PCIe = nvml.PCIe{Gen: &gen, Width: &width, MaxGen: &most, MaxWidth: &lanes}
			g.Use.GPU = &use
		}
	}
	heat := func(celsius int, margin ...int) func(*nvml.GPU) {
		return func(g *nvml.GPU) {
			slowdown := 87
			g.Temperature = nvml.Temperature{GPU: &celsius, Slowdown: &slowdown}
			if len(margin) > 0 {
				g.Temperature = nvml.Temperature{GPU: &celsius, Margin: &margin[0]}
			}
		}
	}
	replays := func(each uint64) func(*nvml.GPU) {
		count := uint64(1000)
		return func(g *nvml.GPU) {
			count += each
			now := count
			g.PCIe.Replays = &now
		}
	}
	for name, c := range map[string]struct {
		change func(*nvml.GPU)
		want   fault.Class // empty for none
	}{
		"heat, says the driver":   {reasons(reasonSWThermal), fault.Thermal},
		"heat, says the board":    {reasons(reasonHWThermal), fault.Thermal},
		"at a limit":              {heat(87), fault.Thermal},
		"below the limit":         {heat(86), ""},
		"no margin left":          {heat(86, 0), fault.Thermal},
		"a replay in each poll":   {replays(1), fault.PCIeDegraded},
		"no replays":              {replays(0), ""},
		"the power brake":         {reasons(reasonPowerBrake), fault.PowerBrake},
		"idle, and a power cap":   {reasons(0x1 | 0x4), ""},
		"few lanes while busy":    {link(5, 8, 90), fault.PCIeDegraded},
		"a slow link while busy":  {link(3, 16, 90), fault.PCIeDegraded},
		"a slow link, to save":    {link(1, 16, 0), ""},
		"the whole link in use":   {link(5, 16, 90), ""},
		"nothing is known of all": {func(*nvml.GPU) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start()
				s.polls(1)
				s.polls(int(3*time.Minute/period), func(g *nvml.GPU) {
					if g.Index == 3 {
						c.change(g)
					}
				})
				got := s.Status().Incidents
				if c.want == "" {
					if len(got) > 0 {
						t.Errorf("judged %q", incidents(s))
					}
				} else if len(got) != 1 || got[0].Verdict.Class != c.want || got[0].Verdict.GPUs[0].UUID != uuid(3) || got[0].State != remediate.Suspect || s.world.cordoned() {
					t.Errorf("judged %+v, cordoned %v", got, s.world.cordoned())
				}
				s.polls(int(11 * time.Minute / period))
				if got := incidents(s); len(got) > 0 {
					t.Errorf("gone, and yet %q", got)
				}
				s.stop()
			})
		})
	}
}
