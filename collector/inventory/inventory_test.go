package inventory

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

func address(bus uint8) xidparse.PCI { return xidparse.PCI{Bus: bus} }

// gpu is one that answers under the n-th name, at bus n unless at says else.
func gpu(n int, at ...uint8) nvml.GPU {
	bus := uint8(n)
	if len(at) > 0 {
		bus = at[0]
	}
	return nvml.GPU{Identity: nvml.Identity{
		UUID: fmt.Sprintf("GPU-%d", n), PCI: address(bus), Serial: fmt.Sprint(n), Name: "H100", Minor: new(int),
	}}
}

func lost(g nvml.GPU) nvml.GPU {
	g.Lost = true
	return g
}

func polls(gpus ...[]nvml.GPU) *Map {
	var m Map
	for _, list := range gpus {
		m.Update(nvml.Inventory{GPUs: list})
	}
	return &m
}

// show writes a map as "BUS=UUID" with - for not listed and ! for lost.
func show(m *Map) string {
	var list []string
	for _, g := range m.GPUs() {
		s := fmt.Sprintf("%x=%s", g.PCI.Bus, g.UUID)
		if !g.Listed {
			s += "-"
		}
		if g.Lost {
			s += "!"
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func TestUpdate(t *testing.T) {
	all := []nvml.GPU{gpu(1), gpu(2), gpu(3)}
	nameless := nvml.GPU{}
	tests := []struct {
		name string
		now  []nvml.GPU
		want string
	}{
		{"all well", all, "1=GPU-1 2=GPU-2 3=GPU-3"},
		{"lost by name", []nvml.GPU{gpu(1), lost(gpu(2)), gpu(3)}, "1=GPU-1 2=GPU-2! 3=GPU-3"},
		{"lost, learnt by elimination", []nvml.GPU{gpu(1), lost(nameless), gpu(3)}, "1=GPU-1 2=GPU-2! 3=GPU-3"},
		{"two lost without a name", []nvml.GPU{lost(nameless), lost(nameless), gpu(3)}, "1=GPU-1! 2=GPU-2! 3=GPU-3"},
		{"one lost without a name, one not listed", []nvml.GPU{lost(nameless), gpu(3)}, "1=GPU-1- 2=GPU-2- 3=GPU-3"},
		{"one does not answer and is not lost", []nvml.GPU{gpu(1), nameless, gpu(3)}, "1=GPU-1 2=GPU-2- 3=GPU-3"},
		{"not listed", []nvml.GPU{gpu(1), gpu(3)}, "1=GPU-1 2=GPU-2- 3=GPU-3"},
		{"nothing listed", nil, "1=GPU-1- 2=GPU-2- 3=GPU-3-"},
		{"another board", []nvml.GPU{gpu(1), gpu(9, 2), gpu(3)}, "1=GPU-1 2=GPU-9 3=GPU-3"},
		{"moved", []nvml.GPU{gpu(1), gpu(2, 8), gpu(3)}, "1=GPU-1 3=GPU-3 8=GPU-2"},
		{"swapped", []nvml.GPU{gpu(1, 2), gpu(2, 1), gpu(3)}, "1=GPU-2 2=GPU-1 3=GPU-3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := polls(all)
			changed := m.Update(nvml.Inventory{GPUs: tt.now})
			if got := show(m); got != tt.want {
				t.Errorf("map %q, want %q", got, tt.want)
			}
			if want := tt.want != show(polls(all)); changed != want {
				t.Errorf("changed %v, want %v", changed, want)
			}
		})
	}
}

func TestLostIsStillNamed(t *testing.T) {
	m := polls([]nvml.GPU{gpu(1), gpu(2)}, []nvml.GPU{gpu(1)})
	byPCI, ok := m.ByPCI(address(2))
	if !ok || byPCI.UUID != "GPU-2" || byPCI.Serial != "2" || byPCI.Name != "H100" {
		t.Errorf("by address: %+v, %v", byPCI, ok)
	}
	if byUUID, ok := m.ByUUID("GPU-2"); !ok || byUUID != byPCI {
		t.Errorf("by UUID: %+v, %v", byUUID, ok)
	}
	if g, ok := m.ByPCI(address(7)); ok {
		t.Errorf("an address that never answered has %+v", g)
	}
}

func TestJSON(t *testing.T) {
	for _, m := range []*Map{{}, polls([]nvml.GPU{gpu(1), lost(gpu(2))})} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got Map
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if len(m.GPUs()) != len(got.GPUs()) || len(m.GPUs()) > 0 && !reflect.DeepEqual(m.GPUs(), got.GPUs()) {
			t.Errorf("%s came back as %+v", text, got.GPUs())
		}
	}
}

func TestBadJSON(t *testing.T) {
	tests := map[string]string{
		`{}`:                               "inventory",
		`[{"uuid":""}]`:                    "entry 0: field uuid",
		`[{"uuid":"a","pci":"elsewhere"}]`: "elsewhere",
		`[{"uuid":"a"},{"uuid":"b"}]`:      "entry 1",
		`[{"uuid":"a"},{"uuid":"a","pci":"0:01:00"}]`: "entry 1",
	}
	for text, want := range tests {
		m := polls([]nvml.GPU{gpu(1)})
		if err := json.Unmarshal([]byte(text), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
		if len(m.GPUs()) != 1 {
			t.Errorf("%s: the map was changed", text)
		}
	}
}
