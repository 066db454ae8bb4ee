package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// at gives the value at a path such as "ecc.volatile.dram_cor" of a GPU's JSON,
// "null" where it is unknown.
func at(t *testing.T, g nvml.GPU, path string) string {
	t.Helper()
	text, err := json.Marshal(g)
	must(t, err)
	var v any
	must(t, json.Unmarshal(text, &v))
	for part := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[part]
	}
	out, err := json.Marshal(v)
	must(t, err)
	return string(out)
}

// Each value on its own, healthy as the profile has it.
func TestProfiles(t *testing.T) {
	lib := simulated(t)
	tests := map[string]map[string]string{
		"hgx-h100": {
			"name": `"NVIDIA H100 80GB HBM3"`, "mig": "false", "ecc.enabled": "true", "ecc.threshold": "false",
			"ecc.volatile": `{"dram_cor":0,"dram_unc":0,"sram_cor":0,"sram_unc":0}`, "retired": "null",
			"remap.banks": `{"high":0,"low":0,"max":2560,"none":0,"partial":0}`, "clocks.reasons": "1",
			"clocks.power_brake": "0", "temp": `{"gpu":31,"margin":56,"memory":42,"shutdown":92,"slowdown":87}`,
			"power": `{"limit":700,"watts":71.5}`, "pcie": `{"gen":5,"max_gen":5,"max_width":16,"replays":0,"width":16}`,
			"use.memory_total": "85520809984", "use.processes": "0", "use.sm": "null", "persistence": "true", "failed": "null",
		},
		"hgx-b200":   {"name": `"NVIDIA B200"`, "recovery": "0", "use.gpu": "0", "failed": "null"},
		"gb200-tray": {"name": `"NVIDIA GB200"`, "pci": `"0008:01:00"`, "failed": "null"},
		"pcie-l40s":  {"name": `"NVIDIA L40S"`, "mig": "false", "pcie.max_gen": "4", "use.sm": "null", "use.gpu": "0", "temp.memory": "null", "failed": "null"},
		"mig-h100": {
			"mig": "true", "remap": "null", "use.gpu": "null", "use.sm": "null", "ecc.volatile.dram_unc": "0", "failed": "null",
			"instances": `[` + strings.Join(instances(), ",") + `]`,
		},
	}
	for profile, want := range tests {
		t.Run(profile, func(t *testing.T) {
			n, err := node.New(t.TempDir(), profile)
			must(t, err)
			c := start(t, n, lib)
			c.inventory(anyInventory)
			g := c.inventory(anyInventory).GPUs[0] // the second: there is something to compare with
			for path, value := range want {
				got := at(t, g, path)
				if path == "instances" {
					got = strings.ReplaceAll(got, g.UUID[4:len(g.UUID)-2], "")
				}
				if got != value {
					t.Errorf("%s = %s, want %s", path, got, value)
				}
			}
		})
	}
}

func instances() (list []string) {
	for i := range 7 {
		list = append(list, fmt.Sprintf(`{"ci":0,"dram":0,"gi":%d,"profile":"1g.10gb","sm":0,"tensor":0,"uuid":"MIG-%02d"}`, 7+i, i))
	}
	return list
}

func TestValues(t *testing.T) {
	set := func(value, to string) func(*node.Node) error {
		return func(n *node.Node) error { return n.Set("2", value, to) }
	}
	busy := func(value, to string) func(*node.Node) error {
		return func(n *node.Node) error { return errors.Join(n.Work("2", 50), n.Set("2", value, to)) }
	}
	tests := []struct {
		do         func(*node.Node) error
		path, want string
	}{
		{func(n *node.Node) error { return n.ECC("2", "dram", "corrected", 5) }, "ecc.volatile.dram_cor", "5"},
		{func(n *node.Node) error { return n.ECC("2", "dram", "uncorrected", 6) }, "ecc.aggregate.dram_unc", "6"},
		{func(n *node.Node) error { return n.ECC("2", "sram", "corrected", 7) }, "ecc.volatile.sram_cor", "7"},
		{func(n *node.Node) error { return n.ECC("2", "sram", "uncorrected", 8) }, "ecc.aggregate.sram_unc", "8"},
		{set("ecc.aggregate.dram.corrected", "9600000000"), "ecc.aggregate.dram_cor", "9600000000"},
		{set("ecc.sram.threshold", "1"), "ecc.threshold", "true"},
		{set("ecc.enabled", "0"), "ecc.enabled", "false"},
		{set("remap.correctable", "8"), "remap.correctable", "8"},
		{set("remap.banks.none", "1"), "remap.banks.none", "1"},
		{set("retired.pending", "1"), "retired.pending", "true"},
		{set("retired.double", "3"), "retired.dbe", "3"},
		{set("clocks.reasons", "136"), "clocks.reasons", "136"},
		{set("clocks.hw-thermal", "2500000000"), "clocks.hw_thermal", "2.5"},
		{set("clocks.power-cap", "1e9"), "clocks.power_cap", "1"},
		{set("temperature", "-5"), "temp.gpu", "-5"},
		{set("temperature.memory", "95"), "temp.memory", "95"},
		{set("temperature.margin", "-3"), "temp.margin", "-3"},
		{set("power", "650250"), "power.watts", "650.25"},
		{func(n *node.Node) error { return n.PCIe("2", 3, 8) }, "pcie.width", "8"},
		{set("pcie.replays", "77"), "pcie.replays", "77"},
		{func(n *node.Node) error { return n.Work("2", 90) }, "use.tensor", "45"},
		{set("processes", "9"), "use.processes", "9"},
		{set("persistence", "0"), "persistence", "false"},

		// Unknown, with the reason.
		{set("ecc.volatile.dram.uncorrected", node.Unknown), "failed", `{"ecc.volatile":999}`},
		{func(n *node.Node) error { return n.Fail("2", "ecc") }, "failed", `{"ecc.aggregate":999,"ecc.enabled":999,"ecc.sram":999,"ecc.volatile":999}`},
		{func(n *node.Node) error { return n.Fail("2", "remap") }, "failed", `{"remap":999}`},
		{set("recovery", node.Unknown), "failed", `{"recovery":999}`},
		{set("temperature.slowdown", node.Unknown), "failed", `{"temp.limits":999}`},
		{set("power", node.Unknown), "failed", `{"power":999}`},
		{busy("gpm.sm", node.Unknown), "failed", `{"use.gpm":999}`},

		// Impossible is unknown.
		{set("temperature", "9000"), "failed", `{"temp":-1}`},
		{set("temperature", node.Blank), "failed", `{"temp":-1}`},
		{set("power", node.Blank), "failed", `{"power":-1}`},
		{set("ecc.volatile.dram.corrected", node.Blank), "failed", `{"ecc.volatile":-1}`},
		{set("ecc.aggregate.sram.uncorrected", node.Blank), "failed", `{"ecc.sram":-1}`},
		{set("utilization.gpu", "101"), "failed", `{"use":-1}`},
		{set("temperature.slowdown", "0"), "failed", `{"temp.limits":-1}`},
		{busy("gpm.sm", node.Blank), "failed", `{"use.gpm":-1}`},
		{set("pcie.gen", "0"), "failed", `{"pcie":-1}`},
		{set("memory.used", "1e12"), "failed", `{"use.memory":-1}`},

		// Not supported is unknown and no failure.
		{set("ecc.volatile.dram.corrected", node.Unsupported), "failed", "null"},
		{set("power", node.Unsupported), "power.watts", "null"},
	}
	n := newNode(t)
	c := start(t, n, simulated(t))
	c.inventory(anyInventory)
	for _, tt := range tests {
		must(t, tt.do(n))
		seen := c.inventory(func(i nvml.Inventory) bool { return at(t, i.GPUs[2], tt.path) == tt.want })
		if slices.ContainsFunc(seen.GPUs, func(g nvml.GPU) bool { return g.Error != nil || g.Index != 2 && g.Failed != nil }) {
			t.Errorf("%s = %s: %+v", tt.path, tt.want, seen.GPUs)
		}
		must(t, n.Restore("2"))
		c.inventory(func(i nvml.Inventory) bool {
			return i.GPUs[2].Failed == nil && at(t, i.GPUs[2], tt.path) != tt.want || tt.want == "null"
		})
	}
}

// From Hopper on each MIG instance tells what it does, though the GPU as a whole does not.
func TestActivityOfInstances(t *testing.T) {
	n, err := node.New(t.TempDir(), "mig-h100")
	must(t, err)
	c := start(t, n, simulated(t))
	shows := func(g nvml.GPU, instance int, sm float64) bool {
		return len(g.Instances) == 7 && g.Instances[instance].SM != nil && *g.Instances[instance].SM == sm
	}
	must(t, errors.Join(n.Activity("2", node.Busy), n.Idle("2", 8)))
	g := c.inventory(func(i nvml.Inventory) bool { return shows(i.GPUs[2], 0, 92) && shows(i.GPUs[2], 1, 0) }).GPUs[2]
	if g.Use.SM != nil || !shows(g, 6, 92) || g.Failed != nil {
		t.Errorf("%+v", g)
	}
	must(t, n.Set("2", "gpm.sm", node.Unsupported))
	c.inventory(func(i nvml.Inventory) bool { return i.GPUs[2].Instances[0].SM == nil && i.GPUs[2].Failed == nil })
}

// A storm is counters that rise from poll to poll.
func TestStorm(t *testing.T) {
	n := newNode(t)
	c := start(t, n, simulated(t))
	must(t, n.Storm("4", 1e6))
	read := func() uint64 {
		g := c.inventory(func(i nvml.Inventory) bool { return i.GPUs[4].ECC.Volatile.DRAMCorrected != nil }).GPUs[4]
		return *g.ECC.Volatile.DRAMCorrected
	}
	first := read()
	for last := first; last < first+1000; {
		next := read()
		if next < last {
			t.Fatalf("%d after %d", next, last)
		}
		last = next
	}
}

// What a driver lacks is looked up, not called, and told once.
func TestMissingSymbols(t *testing.T) {
	lib := simulated(t)
	tests := []struct{ symbol, path, want string }{
		{"nvmlDeviceGetMigMode", "mig", "null"},
		{"nvmlDeviceGetFieldValues", "ecc.volatile.dram_unc", "0"},
		{"nvmlDeviceGetSramEccErrorStatus", "ecc.aggregate.sram_unc", "0"},
		{"nvmlDeviceGetRowRemapperHistogram", "remap.banks", "null"},
		{"nvmlDeviceGetCurrentClocksEventReasons", "clocks.reasons", "1"},
		{"nvmlGpmSampleGet", "use.sm", "null"},
		{"nvmlEventSetCreate", "recovery", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.symbol, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			without, err := n.DropSymbol(lib, tt.symbol)
			must(t, err)
			c := start(t, n, without)
			if r, _ := c.next(); r.Hello == nil || !slices.Equal(r.Hello.Lacks, []string{tt.symbol}) || r.Hello.Driver != "570.195.03" {
				t.Errorf("first report %+v, want a hello that lacks %s", r, tt.symbol)
			}
			if r, _ := c.next(); r.Inventory == nil {
				t.Errorf("second report %+v, want an inventory", r)
			}
			if g := c.inventory(anyInventory).GPUs[0]; at(t, g, tt.path) != tt.want || g.Failed != nil || g.Error != nil {
				t.Errorf("%s: %+v, want %s = %s", tt.symbol, g, tt.path, tt.want)
			}
		})
	}
}

func TestCosts(t *testing.T) {
	c := start(t, newNode(t), simulated(t))
	names := func(costs []nvml.Cost) (list []string) {
		for _, cost := range costs {
			if cost.Count == 0 || cost.Seconds < 0 {
				t.Errorf("%+v", cost)
			}
			list = append(list, cost.Name)
		}
		return list
	}
	first := c.inventory(anyInventory)
	calls, fields := names(first.Calls), names(first.Fields)
	for _, want := range []string{"nvmlInit", "nvmlDeviceGetFieldValues", "nvmlDeviceGetPersistenceMode"} {
		if !slices.Contains(calls, want) {
			t.Errorf("calls %v lack %s", calls, want)
		}
	}
	if !slices.Contains(fields, "230") || !slices.IsSorted(fields) {
		t.Errorf("fields %v: want 230 among them, in order", fields)
	}
	if second := names(c.inventory(anyInventory).Calls); slices.Contains(second, "nvmlDeviceGetPersistenceMode") {
		t.Errorf("the second poll is slow too: %v", second)
	}
}
