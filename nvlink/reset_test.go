package nvlink

import (
	"slices"
	"testing"
)

func TestResetRuleOf(t *testing.T) {
	tests := []struct {
		board              string
		managed, unmanaged ResetScope
	}{
		{"Tesla V100-SXM3-32GB", ResetBaseboard, ResetBaseboard},
		{"Tesla V100-SXM2-16GB", ResetGroup, ResetGroup},
		{"NVIDIA A100-SXM4-80GB", ResetGPU, ResetBaseboard},
		{"NVIDIA A100 80GB PCIe", ResetGPU, ResetGPU},
		{"NVIDIA H100 80GB HBM3", ResetGPU, ResetBaseboard},
		{"NVIDIA H100 PCIe", ResetGPU, ResetGPU},
		{"NVIDIA H200", ResetGPU, ResetBaseboard},
		{"NVIDIA B200", ResetGPU, ResetBaseboard},
		{"NVIDIA GB200", ResetGPU, ResetGPU},
		{"NVIDIA L40S", ResetGPU, ResetGPU},
		{"", ResetGPU, ResetGPU},
	}
	for _, test := range tests {
		r := ResetRuleOf(test.board)
		if r.Scope(true) != test.managed || r.Scope(false) != test.unmanaged {
			t.Errorf("%q: %s with a fabric manager and %s without, want %s and %s",
				test.board, r.Scope(true), r.Scope(false), test.managed, test.unmanaged)
		}
	}
}

// Each rule but the last can be met, names its source, and knows only scopes that
// there are.
func TestResetRules(t *testing.T) {
	rules := resetRules
	for i, r := range rules {
		if r.Source == "" {
			t.Errorf("%q has no source", r.Board)
		}
		if ResetRuleOf("NVIDIA "+r.Board).Board != r.Board {
			t.Errorf("%q is hidden by %q", r.Board, ResetRuleOf(r.Board).Board)
		}
		if (r.Board == "") != (i == len(rules)-1) {
			t.Errorf("rule %d: %q; the last, and only it, has every board", i, r.Board)
		}
		for _, s := range []ResetScope{r.Managed, r.Unmanaged} {
			if _, err := ParseResetScope(string(s)); err != nil {
				t.Errorf("%q: %v", r.Board, err)
			}
		}
	}
	if _, err := ParseResetScope("rack"); err == nil {
		t.Error("the scope rack is accepted")
	}
}

func TestReset(t *testing.T) {
	gpu := func(bus uint8) Address { return Address{Bus: bus} }
	heard := []Address{gpu(1), gpu(2), gpu(3), gpu(4)}
	boards := Topology{Baseboards: [][]Address{{gpu(1), gpu(2)}, {gpu(3), gpu(4)}}}
	tests := []struct {
		name     string
		topology Topology
		scope    ResetScope
		gpus     []Address
		want     []Address
	}{
		{"one by itself", Topology{}, ResetGPU, []Address{gpu(3)}, []Address{gpu(3)}},
		{"two, in order", Topology{}, ResetGPU, []Address{gpu(3), gpu(1)}, []Address{gpu(1), gpu(3)}},
		{"a group", Topology{}, ResetGroup, []Address{gpu(3)}, heard},
		{"a baseboard nobody described", Topology{}, ResetBaseboard, []Address{gpu(3)}, heard},
		{"one of two baseboards", boards, ResetBaseboard, []Address{gpu(3)}, []Address{gpu(3), gpu(4)}},
		{"both baseboards", boards, ResetBaseboard, []Address{gpu(4), gpu(2)}, heard},
		{"the only baseboard", Topology{OneBaseboard: true}, ResetBaseboard, []Address{gpu(9)}, append(heard, gpu(9))},
		{"a group and a GPU not heard of", Topology{}, ResetGroup, []Address{gpu(9)}, append(heard, gpu(9))},
		{"nothing", boards, ResetBaseboard, nil, []Address{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.topology.Reset(test.scope, test.gpus, heard); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
