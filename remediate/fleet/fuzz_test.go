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

// FuzzNumberIn: an answer is one number that can be reckoned with, or an error.
func FuzzNumberIn(f *testing.F) {
	for _, body := range []string{
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"7.5"]}]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"+Inf"]}}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"1e400"]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"values":[]}]}}`,
		`{"status":"error","error":"parse error"}`, `<html>`, ``, `null`, `{"status":"success"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := numberIn("200 OK", body)
		if err != nil && v != 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%q is %v, %v", body, v, err)
		}
	})
}
