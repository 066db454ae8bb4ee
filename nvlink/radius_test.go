package nvlink

import (
	"slices"
	"testing"
)

func TestReach(t *testing.T) {
	gpu := func(n uint8) Address { return Address{Bus: n} }
	down := func(links ...int) (ws []Wire) {
		for _, l := range links {
			ws = append(ws, Wire{Link: l, State: Inactive, To: End{Kind: RemoteSwitch}})
		}
		return ws
	}
	all := func(n int) (links []int) {
		for l := range n {
			links = append(links, l)
		}
		return links
	}
	hgx, _ := Named("hgx-b200")
	tray, _ := Named("gb200-nvl72")
	links := map[Address]int{gpu(1): 18, gpu(2): 18, gpu(3): 18, gpu(4): 18}
	everywhere := func(ls ...int) map[Address][]Wire {
		return map[Address][]Wire{gpu(1): down(ls...), gpu(2): down(ls...), gpu(3): down(ls...), gpu(4): down(ls...)}
	}
	one := func(ls ...int) map[Address][]Wire { return map[Address][]Wire{gpu(2): down(ls...)} }
	echo := func(n uint8) LinkError { return LinkError{GPU: gpu(n), XID: 145, Link: 3} }
	root := func(n uint8) LinkError { return LinkError{GPU: gpu(n), XID: 149, Link: 3, Root: true} }
	four := []Address{gpu(1), gpu(2), gpu(3), gpu(4)}
	board := Topology{OneBaseboard: true, GPUs: four}
	fine := []Summary{{Node: "a"}, {Node: "b"}}
	for _, tt := range []struct {
		name     string
		failure  Failure
		topology Topology
		heard    []Summary
		want     Reach
	}{
		{"one link", Failure{Down: one(7), Links: links}, tray, nil, Reach{Extent: ExtentLink, GPUs: []Address{gpu(2)}, Sure: true}},
		{"many links of one GPU", Failure{Down: one(3, 7, 9), Links: links}, tray, nil, Reach{Extent: ExtentGPU, GPUs: []Address{gpu(2)}, Sure: true}},
		{"one link on every GPU, nobody heard", Failure{Down: everywhere(7), Links: links}, tray, nil, Reach{Extent: ExtentTray}},
		{"one link on every GPU, neighbours fine", Failure{Down: everywhere(7), Links: links}, tray, fine, Reach{Extent: ExtentTray, GPUs: four, Sure: true}},
		{"one link on every GPU, and on a neighbour's", Failure{Down: everywhere(7), Links: links}, tray, []Summary{{Node: "a", Down: []int{7}}}, Reach{Extent: ExtentDomain, Sure: true}},
		{"one link on every GPU of a board", Failure{Down: everywhere(7), Links: links}, hgx, nil, Reach{Extent: ExtentBaseboard, Sure: true}},
		{"every link of a tray, neighbours fine", Failure{Down: everywhere(all(18)...), Links: links}, tray, fine, Reach{Extent: ExtentTray, GPUs: four, Sure: true}},
		{"every link of a tray, nobody heard", Failure{Down: everywhere(all(18)...), Links: links}, tray, nil, Reach{Extent: ExtentTray, GPUs: four}},
		{"every link of every tray", Failure{Down: everywhere(all(18)...), Links: links}, tray, []Summary{{AllDown: true}}, Reach{Extent: ExtentDomain, Sure: true}},
		{"every link of a board", Failure{Down: everywhere(all(18)...), Links: links}, hgx, nil, Reach{Extent: ExtentBaseboard, GPUs: four, Sure: true}},
		{"a root and its echoes", Failure{Errors: []LinkError{echo(1), root(2), echo(3), echo(4)}}, tray, nil, Reach{Extent: ExtentGPU, GPUs: []Address{gpu(2)}, Sure: true}},
		{"a root and its echoes on a board", Failure{Errors: []LinkError{echo(1), root(2), echo(3)}}, hgx, nil, Reach{Extent: ExtentGPU, GPUs: []Address{gpu(2)}, Sure: true}},
		{"two GPUs of a board with 145", Failure{Errors: []LinkError{echo(1), echo(3)}}, hgx, nil, Reach{Extent: ExtentBaseboard, GPUs: []Address{gpu(1), gpu(3)}, Sure: true}},
		{"echoes, a neighbour is the root", Failure{Errors: []LinkError{echo(1), echo(3)}}, tray, []Summary{{Node: "a"}, {Node: "b", Roots: []string{"GPU-1"}}}, Reach{Extent: ExtentGPU, Victim: true, Root: "b", Sure: true}},
		{"echoes, a neighbour is silent", Failure{Errors: []LinkError{echo(1)}}, tray, []Summary{{Node: "a", Echoes: 2}, {Node: "b"}}, Reach{Extent: ExtentGPU, Victim: true, Root: "b"}},
		{"echoes, nobody claims", Failure{Errors: []LinkError{echo(1)}}, tray, fine, Reach{Extent: ExtentGPU, Victim: true}},
		{"echoes, nobody heard", Failure{Errors: []LinkError{echo(1)}}, tray, nil, Reach{Extent: ExtentGPU, Victim: true}},
		{"145 that asks for a reset itself", Failure{Errors: []LinkError{{GPU: gpu(1), XID: 145, Root: true}}}, tray, nil, Reach{Extent: ExtentGPU, GPUs: []Address{gpu(1)}, Sure: true}},
		{"the far end is blamed", Failure{Errors: []LinkError{{GPU: gpu(1), XID: 149, Root: true, Peer: true}}}, tray, nil, Reach{Extent: ExtentGPU, Victim: true}},
		{"the far end is blamed, on a board", Failure{Errors: []LinkError{{GPU: gpu(1), XID: 149, Root: true, Peer: true}}}, hgx, nil, Reach{Extent: ExtentBaseboard, Sure: true}},
		{"the far end is blamed beside a root", Failure{Errors: []LinkError{{GPU: gpu(1), XID: 149, Root: true, Peer: true}, root(2)}}, tray, nil, Reach{Extent: ExtentGPU, GPUs: []Address{gpu(2)}, Sure: true}},
		{"one link has errors on every GPU of a board", Failure{Errors: []LinkError{root(1), root(2), root(3), root(4)}}, board, nil, Reach{Extent: ExtentBaseboard, GPUs: four, Sure: true}},
		{"and not on one of them", Failure{Errors: []LinkError{root(1), root(2), root(3)}}, board, nil, Reach{Extent: ExtentGPU, GPUs: four[:3], Sure: true}},
		{"one link has errors on every GPU of one of two boards", Failure{Errors: []LinkError{root(1), root(2)}}, Topology{Baseboards: [][]Address{four[:2], four[2:]}}, nil, Reach{Extent: ExtentBaseboard, GPUs: four[:2], Sure: true}},
		{"no fabric manager", Failure{NoManager: true}, hgx, nil, Reach{Extent: ExtentBaseboard, Sure: true}},
		{"a new fabric manager", Failure{NewManager: true}, hgx, nil, Reach{Extent: ExtentBaseboard, Sure: true}},
		{"a tray has no fabric manager", Failure{NoManager: true, Down: one(7), Links: links}, tray, nil, Reach{Extent: ExtentLink, GPUs: []Address{gpu(2)}, Sure: true}},
	} {
		got := tt.failure.Judge(tt.topology, tt.heard)
		if got.Extent != tt.want.Extent || !slices.Equal(got.GPUs, tt.want.GPUs) || got.Root != tt.want.Root ||
			got.Victim != tt.want.Victim || got.Sure != tt.want.Sure || got.Why == "" {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestRackReach: of 64 GPUs in a rack one has 149, and the others 145: its node
// finds exactly that GPU, and every other node finds that node.
func TestRackReach(t *testing.T) {
	tray, _ := Named("gb200-nvl72")
	var echoes []LinkError
	for n := range uint8(4) {
		echoes = append(echoes, LinkError{GPU: Address{Bus: n}, XID: 145})
	}
	guilty := Failure{Errors: append(slices.Clone(echoes[:3]), LinkError{GPU: Address{Bus: 3}, XID: 149, Root: true})}
	if got := guilty.Judge(tray, nil); !slices.Equal(got.GPUs, []Address{{Bus: 3}}) || got.Victim {
		t.Errorf("the guilty node: %+v", got)
	}
	heard := []Summary{{Node: "tray-4", Roots: []string{"GPU-3"}, Echoes: 3}}
	for n := 5; n < 20; n++ {
		heard = append(heard, Summary{Node: "other", Echoes: 4})
	}
	for range 15 {
		if got := (Failure{Errors: echoes}).Judge(tray, heard); got.Root != "tray-4" || !got.Victim || len(got.GPUs) > 0 {
			t.Errorf("a victim: %+v", got)
		}
	}
}
