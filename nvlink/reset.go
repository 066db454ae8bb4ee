package nvlink

import (
	"fmt"
	"slices"
	"strings"
)

// ResetScope is which GPUs have to be reset in one go.
type ResetScope string

// The scopes.
const (
	// ResetGPU: each GPU by itself.
	ResetGPU ResetScope = "gpu"
	// ResetGroup: all GPUs that NVLink ties together without a switch.
	ResetGroup ResetScope = "group"
	// ResetBaseboard: all GPUs that share NVSwitches.
	ResetBaseboard ResetScope = "baseboard"
)

// ParseResetScope reads a scope's name.
func ParseResetScope(name string) (ResetScope, error) {
	switch s := ResetScope(name); s {
	case ResetGPU, ResetGroup, ResetBaseboard:
		return s, nil
	}
	return "", fmt.Errorf("reset scope %q: not one of gpu, group, baseboard", name)
}

// ResetRule says how far a reset reaches on the machines of a board.
type ResetRule struct {
	// Board is a part of the board's name as NVML gives it, in upper case; empty
	// is every board that no other rule has.
	Board string
	// Managed is the scope while a fabric manager runs on the node, Unmanaged while
	// none does.
	Managed, Unmanaged ResetScope
	// Confirmed: the source says so of this very machine, and without
	// contradiction.
	Confirmed bool
	Source    string
}

const manual = "nvidia-smi(1), --gpu-reset, tables of NVSwitch and directly connected systems"

// resetRules is the table; the first rule whose board fits counts. Where the
// sources leave it open the wider scope stands: the tool refuses a set that is too
// small, and the one reset that a repair has is spent on that.
var resetRules = [...]ResetRule{
	// Before Ampere all GPUs with a link to one that is reset go with it.
	{"V100-SXM3", ResetBaseboard, ResetBaseboard, true, manual},
	{"V100-SXM2", ResetGroup, ResetGroup, true, manual},
	{"P100-SXM2", ResetGroup, ResetGroup, true, manual},
	// Ampere's NVSwitch systems need the fabric manager for a single one.
	{"A100-SXM4", ResetGPU, ResetBaseboard, true, manual},
	{"A800-SXM4", ResetGPU, ResetBaseboard, true, manual},
	// The switches of a GB200 or GB300 rack are on no compute tray, and no fabric
	// manager is either.
	{"GB200", ResetGPU, ResetGPU, false, "reports of operators: after a GPU's reset the rack's fabric trains its links again"},
	{"GB300", ResetGPU, ResetGPU, false, "as GB200"},
	// From Hopper on the manual's text says that the fabric manager is not needed,
	// and its table that it is.
	{"H100 80GB HBM3", ResetGPU, ResetBaseboard, false, manual + ", which its text contradicts"},
	{"H800", ResetGPU, ResetBaseboard, false, "as H100"},
	{"H200", ResetGPU, ResetBaseboard, false, "as H100"},
	{"H20", ResetGPU, ResetBaseboard, false, "as H100"},
	{"B200", ResetGPU, ResetBaseboard, false, "as H100"},
	{"B300", ResetGPU, ResetBaseboard, false, "as H100"},
	// Boards without NVLink, and from Ampere on those with a bridge.
	{"", ResetGPU, ResetGPU, true, manual},
}

// ResetRuleOf finds the rule of a board, by its name as NVML gives it; an unknown
// name is a board of its own.
func ResetRuleOf(board string) ResetRule {
	board = strings.ToUpper(board)
	i := slices.IndexFunc(resetRules[:], func(r ResetRule) bool { return strings.Contains(board, r.Board) })
	return resetRules[i] // the last one has every board
}

// Scope is how far a reset reaches, with a fabric manager on the node or without.
func (r ResetRule) Scope(managed bool) ResetScope {
	if managed {
		return r.Managed
	}
	return r.Unmanaged
}

// Reset gives the GPUs that must be reset where some are, sorted. Others' work on
// them ends as well: they have to be drained like those that were asked for. heard
// are the node's GPUs as far as they are known. Where the topology does not say
// which GPUs belong together, all of the node do.
func (t Topology) Reset(scope ResetScope, gpus, heard []Address) []Address {
	all := slices.Clone(gpus)
	for _, gpu := range gpus {
		switch board := t.Baseboard(gpu, heard); {
		case scope == ResetGPU:
		case scope == ResetBaseboard && board != nil:
			all = append(all, board...)
		default:
			all = append(all, t.Node(heard)...)
		}
	}
	return sorted(all)
}
