package diag

import (
	"slices"
	"strings"
)

// software is the test of every level: no hardware is put to work in it.
const software = "software"

// expected is one test that a level has.
type expected struct {
	name string
	// level is the lowest that has it.
	level int
	// since is the first version of DCGM that has it; empty for all from 3.0.
	since string
	// only says where DCGM runs it at all. Such a test is named when it is missing
	// or skipped, and no more.
	only string
}

// expectations are the tests by level. A level leaves a test out without a word
// when its plugin is not installed, so the names have to be asked for. Observed
// with DCGM 4.6.0; those of 3.x and the conditions are from NVIDIA's DCGM
// diagnostics guide and its plugin reference.
var expectations = [...]expected{
	{name: software, level: 1},
	{name: "memory", level: 2},
	{name: "pcie", level: 2},
	{name: "diagnostic", level: 3},
	{name: "memory_bandwidth", level: 3},
	{name: "targeted_stress", level: 3},
	{name: "targeted_power", level: 3},
	{name: "nvbandwidth", level: 3, since: "4.0.0", only: "on the products of its list, from Hopper on"},
	{name: "nccl_tests", level: 3, since: "4.6.0", only: "with several GPUs and NCCL's tests installed"},
	{name: "eud", level: 3, only: "as root, with its own package installed"},
	{name: "memtest", level: 4},
	{name: "pulse_test", level: 4},
}

// expect lists what a level of a version of DCGM has. Of an unknown version all
// is expected that is not tied to one.
func expect(level int, version string) (tests []expected) {
	for _, e := range expectations {
		if e.level <= level && (e.since == "" || version != "" && !older(version, e.since)) {
			tests = append(tests, e)
		}
	}
	return tests
}

// parts3 are the checks that DCGM 3 tells apart in its software test, each by the
// names that it has had. It lists every one of them, whatever came of it, but for
// that of the CUDA toolkit, which it does not run: dcgmi/Diag.cpp of NVIDIA/DCGM.
var parts3 = [...][]string{
	{"Denylist", "Blacklist"},
	{"NVML Library"},
	{"CUDA Main Library"},
	{"Permissions and OS Blocks"},
	{"Persistence Mode"},
	{"Environment Variables"},
	{"Page Retirement/Row Remap", "Page Retirement"},
	{"Graphics Processes"},
	{"Inforom"},
}

// lacks gives the checks of DCGM 3's software test that a run does not tell of; none
// where it tells no checks apart, as DCGM 4.
func (r Run) lacks() []expected {
	var there []string
	for _, t := range r.Tests {
		if t.Part != "" {
			there = append(there, t.Part)
		}
	}
	if len(there) == 0 {
		return nil
	}
	var lacking []string
	for _, names := range parts3 {
		known := func(part string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, part) })
		}
		if !slices.ContainsFunc(there, known) {
			lacking = append(lacking, names[0])
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return []expected{{name: Test{Name: software, Part: strings.Join(lacking, ", ")}.Title(), level: 1}}
}

// names3 are DCGM 3's names where lower case and underscores do not make DCGM 4's
// of them.
var names3 = [...]struct{ old, name string }{
	{"gpu_memory", "memory"},
	{"eud_test", "eud"},
	{"cpu_eud_test", "cpu_eud"},
}

// deployment is the category of the software test.
const deployment = "deployment"

// canonical gives a test's name as DCGM 4 writes it, and the part of the software
// test that a name of DCGM 3 stands for.
func canonical(category, name string) (canon, part string) {
	canon = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
	if strings.EqualFold(category, deployment) && canon != software {
		return software, strings.TrimSpace(name)
	}
	i := slices.IndexFunc(names3[:], func(n struct{ old, name string }) bool { return n.old == canon })
	if i >= 0 {
		canon = names3[i].name
	}
	return canon, ""
}
