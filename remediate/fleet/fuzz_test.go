package fleet

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// FuzzParseContract: what is accepted can be decided by, whatever a person wrote.
func FuzzParseContract(f *testing.F) {
	for _, text := range []string{
		"", "perNode: 1\ndemand: x", "perNode: .inf\ndemand: x", "perNode: 1e999\ndemand: x\ngpus: 8", "group: 'a in (b,c)'\nperNode: 2\ndemand: x",
		"perNode: 1\ndemand: x\nqueueAge: y\nobjective: 2s\nshed: [{class: a, demand: z}]", "perNode: 1\ndemand: x\nmaxLoad: 100\nminimum: .nan", "a: &a [*a]", "perNode: 1\nperNode: 2",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseContract(text)
		if err != nil {
			return
		}
		if !(c.PerNode > 0) || math.IsInf(c.PerNode, 0) || !(c.MaxLoad > 0 && c.MaxLoad <= 100) || !(c.Minimum >= 0) ||
			c.GPUs < 0 || c.Objective < 0 || c.Demand == "" || c.Objective > 0 && c.QueueAge == "" {
			t.Errorf("%q is accepted as %+v", text, c)
		}
		if _, err := labels.Parse(c.Group); err != nil {
			t.Errorf("group %q: %v", c.Group, err)
		}
		for _, s := range c.Shed {
			if s.Class == "" || s.Demand == "" {
				t.Errorf("%q is accepted with %+v", text, s)
			}
		}
	})
}
