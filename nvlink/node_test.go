package nvlink

import (
	"slices"
	"testing"
)

func report(bus uint8, links ...Link) GPUReport {
	return GPUReport{Address: Address{Bus: bus}, Reading: Reading{Generation: 4, Links: links}}
}

func TestBuild(t *testing.T) {
	sw := func(bus uint8) *Address { return &Address{Domain: 1, Bus: bus} }
	link := func(i int, peer *Address) Link {
		return Link{Index: i, State: Active, Remote: RemoteSwitch, Peer: peer}
	}
	cluster, _ := MakeFabric(3, 3, 0, [16]byte{1}, 5)
	rack := report(1, link(0, nil))
	rack.Reading.Fabric = &cluster
	for _, tt := range []struct {
		name    string
		reports []GPUReport
		want    Topology
	}{
		{"no links", []GPUReport{report(2), report(1)}, Topology{Count: 2}},
		{"directly wired", []GPUReport{report(1, Link{State: Active, Remote: RemoteGPU, Peer: &Address{Bus: 2}})}, Topology{Count: 1}},
		{"one board", []GPUReport{report(1, link(0, sw(1)), link(1, sw(2))), report(2, link(0, sw(2)))}, Topology{Count: 2, OneBaseboard: true}},
		{"switches that are not seen", []GPUReport{report(1, link(0, nil)), report(2, link(0, nil))}, Topology{Count: 2, OneBaseboard: true}},
		{"two boards", []GPUReport{report(1, link(0, sw(1))), report(2, link(0, sw(2)))}, Topology{Count: 2, Baseboards: [][]Address{{{Bus: 1}}, {{Bus: 2}}}}},
		{"a tray", []GPUReport{rack}, Topology{Count: 1, Domain: "01000000-0000-0000-0000-000000000000.5"}},
	} {
		got := Build(tt.reports, nil).Topology()
		same := slices.EqualFunc(got.Baseboards, tt.want.Baseboards, func(a, b []Address) bool { return slices.Equal(a, b) })
		if got.Count != tt.want.Count || got.OneBaseboard != tt.want.OneBaseboard || got.Domain != tt.want.Domain || !same {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestSwitchNames: only a site knows which link leads to which switch of a rack.
func TestSwitchNames(t *testing.T) {
	links := []Link{{Index: 0, Remote: RemoteSwitch}, {Index: 1, Remote: RemoteSwitch}, {Index: 2, Remote: RemoteGPU}}
	n := Build([]GPUReport{report(1, links...)}, map[int]string{1: "tray 3 chip 0", 2: "not a switch"})
	var got []string
	for _, e := range n.Ends() {
		got = append(got, e.String())
	}
	if want := []string{"gpu", "switch", "tray 3 chip 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestModels(t *testing.T) {
	for _, name := range TopologyNames() {
		n, err := Model(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Topology(); got.Name != name || len(n.GPUs) != got.Count {
			t.Errorf("%s: %d GPUs, %+v", name, len(n.GPUs), got)
		}
	}
	if _, err := Model("toaster"); err == nil {
		t.Error("a machine of that name")
	}
}
