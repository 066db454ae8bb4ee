package guard

import (
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

func TestTake(t *testing.T) {
	pod := func(name string) fault.Workload { return fault.Workload{Name: name, UID: "uid-" + name} }
	ready := func(names ...string) (all []Worker) {
		for _, name := range names {
			all = append(all, Worker{Workload: pod(name), Ready: true})
		}
		return all
	}
	broken := func(name string) []Worker { return []Worker{{Workload: pod(name)}} }
	bare := func(name string) []Worker { return []Worker{{Workload: pod(name), Ready: true, Stays: true}} }
	none, of := Turn{}, func(name string, workers int) Turn { return Turn{pod(name), workers} }
	tests := []struct {
		name string
		all  []Worker
		last Turn
		over bool
		want string // why it is held
		idle bool   // it takes no turn
	}{
		{name: "nobody would make it anew", all: append(bare("a"), ready("b")...), last: of("c", 3), idle: true},
		{name: "nobody's turn before", all: ready("a", "b", "c"), last: none},
		{name: "alone", all: ready("a"), last: none},
		{name: "it is ill itself", all: append(ready("b"), broken("a")...), last: none},
		{name: "another is ill", all: append(ready("a", "b"), broken("c")...), last: none, want: "c of the same group is not ready"},
		{name: "another is being restarted", all: ready("a", "b", "c"), last: of("b", 3), want: "b is being restarted"},
		{name: "its pod is gone", all: ready("a", "c"), last: of("b", 3), want: "b was restarted, and 2 of 3 workers of its group are there"},
		{name: "the next is not ready", all: append(ready("a", "c"), broken("b2")...), last: of("b", 3), want: "b2 of the same group is not ready"},
		{name: "it is back", all: ready("a", "b2", "c"), last: of("b", 3)},
		{name: "nobody goes on with it", all: ready("a", "b", "c"), last: of("b", 3), over: true},
		{name: "the group was made smaller", all: ready("a"), last: of("b", 3), over: true},
		{name: "nobody goes on, and another is ill", all: append(ready("a", "b"), broken("c")...), last: of("b", 3), over: true, want: "c of the same group is not ready"},
		{name: "its own turn still", all: ready("a", "b", "c"), last: of("a", 3)},
		{name: "its own turn, and another is ill", all: append(ready("a"), broken("c")...), last: of("a", 2), want: "c of the same group is not ready"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			next, hold := Take(test.all, test.last, !test.over, pod("a"))
			got, want := "", test.last
			if hold != nil {
				got = hold.Why
			}
			if test.want == "" && test.last.UID != "uid-a" && !test.idle {
				want = of("a", len(test.all))
			}
			if got != test.want || next != want {
				t.Errorf("%q, %+v, want %q, %+v", got, next, test.want, want)
			}
		})
	}
}
