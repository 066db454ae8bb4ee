package dcgm

import (
	"testing"
	"time"
)

func values(xids ...*XID) Report {
	var v Values
	for i, x := range xids {
		v.GPUs = append(v.GPUs, GPU{Entity: Entity{Group: "gpu", ID: uint(i)}, XID: x})
	}
	return ValuesReport(v)
}

// The last XID is a level: it is told once, two equal ones twice.
func TestXIDIsToldOnce(t *testing.T) {
	at := time.Unix(1796032800, 0)
	first, second, other := &XID{79, at}, &XID{79, at.Add(time.Second)}, &XID{43, at}
	steps := []struct {
		xids []*XID
		told []bool
	}{
		{[]*XID{nil, nil}, []bool{false, false}},
		{[]*XID{first, nil}, []bool{true, false}},
		{[]*XID{first, nil}, []bool{false, false}},
		{[]*XID{first, other}, []bool{false, true}},
		{[]*XID{second, other}, []bool{true, false}},
		{[]*XID{nil, nil}, []bool{false, false}}, // the engine was restarted
		{[]*XID{second, nil}, []bool{false, false}},
	}
	var n news
	for i, step := range steps {
		r, ok := n.of(values(step.xids...))
		if !ok {
			t.Fatalf("step %d: values are kept back", i)
		}
		for gpu, want := range step.told {
			if got := r.Values.GPUs[gpu].XID; (got != nil) != want {
				t.Errorf("step %d: GPU %d: XID %v, want told: %v", i, gpu, got, want)
			}
		}
	}
}

func TestHealthIsToldWhenItChanges(t *testing.T) {
	dbe := Incident{Entity: gpu0, System: "memory", Code: 4, Result: Fail}
	off := Incident{Entity: gpu0, System: "any", Code: 120, Result: Fail, Sticky: true}
	check := func(first bool, overall Result, incidents ...Incident) Report {
		return HealthReport(Health{Overall: overall, First: first, Incidents: incidents})
	}
	steps := []struct {
		name   string
		report Report
		news   bool
	}{
		{"first", check(true, Pass), true},
		{"again", check(false, Pass), false},
		{"found", check(false, Fail, off), true},
		{"sticks", check(false, Fail, off), false},
		{"two", check(false, Fail, off, dbe), true},
		{"connected anew", check(true, Fail, off, dbe), false},
		{"one gone", check(false, Fail, off), true},
		{"engine restarted", check(true, Pass), true},
		{"no GPU", check(false, Unknown), true},
	}
	var n news
	for _, step := range steps {
		if _, ok := n.of(step.report); ok != step.news {
			t.Errorf("%s: news %v, want %v", step.name, ok, step.news)
		}
	}
}

func TestAbsenceIsToldOnce(t *testing.T) {
	absent := func(r Reason) Report { return AbsentReport(Absent{Reason: r}) }
	steps := []struct {
		report Report
		news   bool
	}{
		{absent(NoEngine), true}, {absent(NoEngine), false}, {absent(NoLibrary), true},
		{UpReport(Up{}), true}, {absent(NoLibrary), true},
	}
	var n news
	for i, step := range steps {
		if _, ok := n.of(step.report); ok != step.news {
			t.Errorf("step %d: news %v, want %v", i, ok, step.news)
		}
	}
}
