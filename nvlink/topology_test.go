package nvlink

import (
	"slices"
	"testing"
)

func TestTopology(t *testing.T) {
	gpu := func(bus uint8) Address { return Address{Bus: bus} }
	heard := []Address{gpu(9), gpu(3)}
	hgx, _ := Named("hgx-h100")
	tray, _ := Named("gb200-nvl72")
	pcie, _ := Named("pcie")
	two := Topology{GPUs: []Address{gpu(1), gpu(2), gpu(3), gpu(4), gpu(5)}, Baseboards: [][]Address{{gpu(2), gpu(1)}, {gpu(3), gpu(4)}}}
	tests := []struct {
		name                      string
		topology                  Topology
		node, baseboard, switched []Address // baseboard: of bus 3
	}{
		{"one board", hgx, []Address{gpu(3), gpu(9)}, []Address{gpu(3), gpu(9)}, []Address{gpu(3), gpu(9)}},
		{"a tray", tray, []Address{gpu(3), gpu(9)}, nil, nil},
		{"no NVLink", pcie, []Address{gpu(3), gpu(9)}, nil, nil},
		{"two boards", two, []Address{gpu(1), gpu(2), gpu(3), gpu(4), gpu(5), gpu(9)}, []Address{gpu(3), gpu(4)}, []Address{gpu(1), gpu(2), gpu(3), gpu(4)}},
		{"nothing known", Topology{}, []Address{gpu(3), gpu(9)}, nil, nil},
	}
	for _, tt := range tests {
		if got := tt.topology.Node(heard); !slices.Equal(got, tt.node) {
			t.Errorf("%s: node %v, want %v", tt.name, got, tt.node)
		}
		if got := tt.topology.Baseboard(gpu(3), heard); !slices.Equal(got, tt.baseboard) {
			t.Errorf("%s: baseboard %v, want %v", tt.name, got, tt.baseboard)
		}
		if got, ok := tt.topology.Switched(heard); !slices.Equal(got, tt.switched) || ok != (tt.switched != nil) {
			t.Errorf("%s: switched %v, %t, want %v", tt.name, got, ok, tt.switched)
		}
	}
	if got := two.Baseboard(gpu(5), heard); got != nil {
		t.Errorf("a GPU beside the boards shares switches with %v", got)
	}
}

func TestTopologyString(t *testing.T) {
	for name, want := range map[string]string{
		"hgx-h100":    "hgx-h100, 8 GPUs, NVLink 4, one baseboard",
		"hgx-b200":    "hgx-b200, 8 GPUs, NVLink 5, one baseboard",
		"gb200-nvl72": "gb200-nvl72, 4 GPUs, NVLink 5, no NVSwitch on the node, one of 18 trays in its domain",
		"gb300-nvl72": "gb300-nvl72, 4 GPUs, NVLink 5, no NVSwitch on the node, one of 18 trays in its domain",
		"pcie":        "pcie, no NVLink, no NVSwitch on the node",
	} {
		if topology, ok := Named(name); !ok || topology.String() != want {
			t.Errorf("%q, want %q", topology, want)
		}
	}
	if len(TopologyNames()) != 5 {
		t.Errorf("names %q", TopologyNames())
	}
	if _, ok := Named(""); ok {
		t.Error("an empty name is a topology's")
	}
}
