package guard

import (
	"strings"
	"testing"
)

func TestScheduledDiagnoses(t *testing.T) {
	rack := func(busy ...string) Rack { return Rack{Name: "rack=7", Busy: busy} }
	for _, c := range []struct {
		name string
		busy []string
		rack Rack
		rota Rota
		want string
	}{
		{"nobody is diagnosed", nil, rack(), Rota{1, 1}, ""},
		{"one of the group is", []string{"a"}, rack(), Rota{1, 1}, "schedule"},
		{"one of two that may be", []string{"a"}, rack(), Rota{2, 1}, ""},
		{"two of two", []string{"a", "b"}, rack(), Rota{2, 1}, "schedule"},
		{"one of the rack is, which has other groups", nil, rack("x"), Rota{2, 1}, "power"},
		{"one of two that its power is enough for", []string{"a"}, rack("a"), Rota{3, 2}, ""},
		{"the group and the rack are full", []string{"a"}, rack("a"), Rota{1, 1}, "schedule power"},
		{"no rack is counted", []string{"a"}, Rack{}, Rota{2, 1}, ""},
		{"the rack is not known", nil, Rack{Unknown: "no label"}, Rota{2, 1}, "power"},
	} {
		f := group(20, "out leave", "out leave", "links-down 1", "links-down 2", "links-down 3")
		f.Busy, f.Rack = c.busy, c.rack
		f.Load = &Load{Unknown: "no answer"}
		r := Default()
		r.Rota = c.rota
		var got []string
		for _, h := range r.Decide(f, Ask{Action: Scheduled}) {
			if h.Why == "" || h.Until == "" {
				t.Errorf("%s: %+v says not why, or not until what", c.name, h)
			}
			got = append(got, string(h.Guard))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: held by %v, want %q", c.name, got, c.want)
		}
	}
}

// Whoever waits reads for whom, and not for hundreds.
func TestScheduledDiagnosesNameWhoIsDiagnosed(t *testing.T) {
	f := group(20)
	f.Busy = []string{"a", "b", "c", "d", "e"}
	holds := Default().Decide(f, Ask{Action: Scheduled})
	if want := "5 nodes of cluster being diagnosed (a, b, c, d, …), and 1 may be"; len(holds) != 1 || holds[0].Why != want || holds[0].Until != "fewer than 1 are" {
		t.Errorf("%+v, want %q", holds, want)
	}
}
