package host

import (
	"slices"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func TestVerify(t *testing.T) {
	gpu := fault.Device{PCI: xidparse.PCI{Bus: 1}, UUID: "GPU-1"}
	other := fault.Device{PCI: xidparse.PCI{Bus: 2}, UUID: "GPU-2"}
	number := func(n int) *int { return &n }
	errors := func(n uint64) *uint64 { return &n }
	truth := func(b bool) *bool { return &b }
	sick := Reading{GPU: gpu, Recovery: number(1), Uncorrected: errors(2), RemapPending: truth(true)}
	well := Reading{GPU: gpu, Recovery: number(0), Uncorrected: errors(0), RemapPending: truth(false)}
	fine := Reading{GPU: other, Recovery: number(0), Uncorrected: errors(7)}
	tests := []struct {
		name          string
		before, after []Reading
		want          []string
	}{
		{"worked", []Reading{sick, fine}, []Reading{well, fine}, nil},
		{"healed nothing", []Reading{sick}, []Reading{sick}, []string{
			"GPU-1 (0000:01:00): the driver still wants recovery action 1",
			"GPU-1 (0000:01:00): 2 uncorrected memory errors since the reset",
			"GPU-1 (0000:01:00): rows still wait to be remapped",
		}},
		{"gone", []Reading{sick, fine}, []Reading{fine}, []string{"GPU-1 (0000:01:00) is not listed any more"}},
		{"took another along", []Reading{sick, fine}, []Reading{well}, []string{"GPU-2 (0000:02:00) is not listed any more"}},
		{"lost another", []Reading{sick, fine}, []Reading{well, {GPU: other, Lost: true}}, []string{"GPU-2 (0000:02:00) is off the bus"}},
		{"another was lost before", []Reading{sick, {GPU: other, Lost: true}}, []Reading{well, {GPU: other, Lost: true}}, nil},
		{"lost", []Reading{sick}, []Reading{{GPU: gpu, Lost: true}}, []string{"GPU-1 (0000:01:00) is off the bus"}},
		{"came back", []Reading{{GPU: gpu, Lost: true}}, []Reading{well}, nil},
		{"told nothing before", []Reading{{GPU: gpu}}, []Reading{{GPU: gpu}}, nil},
		{"tells less than before", []Reading{sick}, []Reading{{GPU: gpu}}, []string{
			"GPU-1 (0000:01:00): the driver does not tell its recovery action any more",
			"GPU-1 (0000:01:00): its memory errors are not told any more",
			"GPU-1 (0000:01:00): its row remapping is not told any more",
		}},
		{"in the fabric again", []Reading{{GPU: gpu, Registered: truth(true)}}, []Reading{{GPU: gpu, Registered: truth(true)}}, nil},
		{"never in a fabric", []Reading{{GPU: gpu, Registered: truth(false)}}, []Reading{{GPU: gpu}}, nil},
		{"on its way into the fabric", []Reading{{GPU: gpu, Registered: truth(true)}}, []Reading{{GPU: gpu, Registered: truth(false)}}, []string{
			"GPU-1 (0000:01:00): its registration at the NVLink fabric is not completed",
		}},
		{"silent of the fabric", []Reading{{GPU: gpu, Registered: truth(true)}}, []Reading{{GPU: gpu}}, []string{
			"GPU-1 (0000:01:00): its registration at the NVLink fabric is not told any more",
		}},
		{"nobody had asked before", nil, nil, []string{"GPU-1 (0000:01:00) is not listed"}},
		{"known by its UUID alone", []Reading{sick}, []Reading{{GPU: fault.Device{UUID: "GPU-1"}, Lost: true}}, []string{"GPU-1 (0000:01:00) is off the bus"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Verify([]fault.Device{gpu}, test.before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
