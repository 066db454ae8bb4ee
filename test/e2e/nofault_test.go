package e2e

import (
	"errors"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// noFaults look like trouble and are none. Each is on a GPU of its own.
var noFaults = []struct {
	name  string
	begin change
}{
	{"nonsense for every value", all(node.Blank)},
	{"a temperature that no GPU has", set("temperature", "4000")},
	{"some corrected errors", eccErrors("dram", "corrected", 150)},
	{"a link that saves power", func(sim *node.Node, gpu string) error { return sim.PCIe(gpu, 1, 16) }},
	{"a power cap", set("clocks.reasons", "4")},
	{"MIG mode is turned on", func(sim *node.Node, gpu string) error { return sim.MIG(gpu, true) }},
	{"a spare row used, as they are meant to be", set("remap.correctable", "1")},
}

// all gives every value of a GPU one word, but for its number of processes: go-nvml
// makes room for as many as it is told.
func all(word string) change {
	return func(sim *node.Node, gpu string) error {
		names, err := sim.Values()
		for _, name := range names {
			if name != "processes" {
				err = errors.Join(err, sim.Set(gpu, name, word))
			}
		}
		return err
	}
}

// TestWhatIsNoFault: nothing is made of it, however often it is seen. One card has
// no error correction at all.
func TestWhatIsNoFault(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.Config.NVML.SlowPeriod = d.Config.NVML.Period
	d.Config.NVML.Slowdown = 5 * d.Config.NVML.Period
	const plain = 7
	d.Must(all(node.Unsupported)(d.Sim, d.GPU(plain).UUID))
	d.StartReady()
	inject(t, d, func() {
		for i, c := range noFaults {
			d.Must(c.begin(d.Sim, d.GPU(i).UUID))
		}
	})
	awaitPolls(t, d, 12) // two windows of a slowdown
	for _, i := range d.Status().Incidents {
		t.Errorf("%s for %v: %s", i.Verdict.Class, i.Verdict.GPUs, i.Verdict.Reason)
	}
	if !d.Ready() || d.Metric("gpus", `state="listed"`) != 8 {
		t.Error("not all GPUs are watched")
	}
}
