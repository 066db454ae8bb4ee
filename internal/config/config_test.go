package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestBadConfigIsRefusedByFileLineAndField(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"unknown key", "mode: contain\nkernelLog:\n  pathh: /dev/kmsg\n", "c.yaml:3: kernelLog.pathh: unknown key"},
		{"unknown key at the top", "modus: contain\n", "c.yaml:1: modus: unknown key"},
		{"wrong type", "contain:\n  cleanPolls: many\n", `c.yaml:2: contain.cleanPolls: "many" is not a whole number in range`},
		{"wrong type, a word", "exec: {quarantine: take-node}\n", `c.yaml:1: exec.quarantine: "take-node" is not a list of single values, such as [a, b]`},
		{"wrong type, a list in a list", "exec: {quarantine: [[a]]}\n", `c.yaml:1: exec.quarantine: a list is not a list of single values, such as [a, b]`},
		{"wrong type, a list", "nvml:\n  enabled: [1]\n", "c.yaml:2: nvml.enabled: a list is not true or false"},
		{"negative duration", "\nnvml:\n  period: -5s\n", "c.yaml:3: nvml.period: -5s is negative"},
		{"a number without a unit", "nvml:\n  period: 5\n", `c.yaml:2: nvml.period: "5" is not a duration; write it as 90s, 10m or 24h`},
		{"too short", "nvml:\n  period: 10ms\n", "c.yaml:2: nvml.period: 10ms is less than 1s"},
		{"unknown mode", "mode: fix\n", `c.yaml:1: mode: "fix" is not observe, contain or repair`},
		{"unknown actuator", "actuator: shell\n", `c.yaml:1: actuator: "shell" is not kubernetes, slurm, exec or log`},
		{"several nodes", "slurm:\n  node: gpu[1-9]\n", `c.yaml:2: slurm.node: "gpu[1-9]" is not the NodeName of one node`},
		{"no scontrol", "slurm:\n  scontrol: []\n", "c.yaml:2: slurm.scontrol: empty"},
		{"a try too long", "slurm:\n  deadline: 8s\n", "c.yaml:2: slurm.deadline: 8s is not from 1s to 7.5s"},
		{"no period", "slurm:\n  period: 0s\n", "c.yaml:2: slurm.period: 0s is less than 1s"},
		{"no programs", "actuator: exec\nexec:\n  quarantine: [/bin/q]\n  release: []\n", "c.yaml:4: exec.release: empty, and the actuator is exec"},
		{"a program too slow", "exec:\n  deadline: 1m\n", "c.yaml:2: exec.deadline: 1m0s is not from 1s to 15s"},
		{"a drain by Slurm alone", "mode: repair\nrepair:\n  drain:\n    mode: slurm\n", "c.yaml:4: repair.drain.mode: slurm, and the actuator is not slurm"},
		{"a reboot by Slurm alone", "mode: repair\nrepair:\n  reboot:\n    mode: slurm\n", "c.yaml:4: repair.reboot.mode: slurm, and the actuator is not slurm"},
		{"a drain by Slurm with force", "repair:\n  drain:\n    mode: slurm\n    atDeadline: force\n", "c.yaml:4: repair.drain.atDeadline: force, and repair.drain.mode is slurm, which ends no job"},
		{"unknown level", "log:\n  level: loud\n", `c.yaml:2: log.level: "loud" is not debug, info, warn or error`},
		{"unknown source", "kernelLog:\n  source: syslog\n", `c.yaml:2: kernelLog.source: "syslog" is not auto, kmsg, journal or both`},
		{"no journal", "kernelLog:\n  source: both\n  journalPaths: []\n", "c.yaml:3: kernelLog.journalPaths: none, and the source is both"},
		{"relative library", "nvml:\n  libraryPaths: [a]\n", `c.yaml:2: nvml.libraryPaths: ["a"] are not all absolute paths`},
		{"relative journal", "kernelLog:\n  journalPaths: [/a, b]\n", `c.yaml:2: kernelLog.journalPaths: ["/a" "b"] are not all absolute paths`},
		{"a budget of nothing", "guards: {budget: {least: 0}}\n", "c.yaml:1: guards.budget.least: 0 is less than 1"},
		{"a share of more than all", "guards:\n  outbreak:\n    percent: 101\n", "c.yaml:3: guards.outbreak.percent: 101 is not from 0 to 100"},
		{"no rate", "guards: {perDay: {reboot: 0}}\n", "c.yaml:1: guards.perDay.reboot: 0 is less than 1"},
		{"no label", "guards: {group: 'a b'}\n", `c.yaml:1: guards.group: "a b" is not a label's key`},
		{"no ConfigMap", "guards: {capacity: {contract: capacity}}\n", `c.yaml:1: guards.capacity.contract: "capacity" is not namespace/name`},
		{"a contract and nobody to ask", "guards: {capacity: {contract: a/b}}\n", `c.yaml: guards.capacity.prometheus: "" is not a URL with http or https, and there is a contract`},
		{"a ramp without an end", "guards: {ramp: {every: 1h}}\n", "c.yaml: guards.ramp.limit: 15m0s is less than guards.ramp.every"},
		{"a mode of no class", "modes:\n  xid-7474: observe\n", "c.yaml:2: modes.xid-7474: not a class of fault; docs/faults.md has them"},
		{"no mode of a class", "modes: {xid-74: off}\n", `c.yaml:1: modes.xid-74: "off" is not observe, contain or repair`},
		{"modes in a list", "modes: [xid-74]\n", "c.yaml:1: modes: a list is not a map, such as {a: b}"},
		{"negative count", "evidence:\n  keep: -1\n", "c.yaml:2: evidence.keep: -1 is negative"},
		{"too small", "evidence:\n  maxBytes: 1000\n", "c.yaml:2: evidence.maxBytes: 1000 is less than 65536"},
		{"relative path", "state:\n  path: state.db\n", `c.yaml:2: state.path: "state.db" is not an absolute path`},
		{"an IMEX tool that may hang a look", "imex: {deadline: 1m}\n", "c.yaml:1: imex.deadline: 1m0s is not from 100ms to 15s"},
		{"an IMEX tool without a name", "imex: {command: ['', -q]}\n", "c.yaml:1: imex.command: its first word is empty"},
		{"no recovery at all", "nvml: {linkTrend: {perDay: 0}}\n", "c.yaml:1: nvml.linkTrend.perDay: 0 is less than 1"},
		{"a rate that is none", "nvml: {linkTrend: {bitErrorRate: 1}}\n", "c.yaml:1: nvml.linkTrend.bitErrorRate: 1 is not between 0 and 1"},
		{"zero polls", "contain: {cleanPolls: 0}\n", "c.yaml:1: contain.cleanPolls: 0 is less than 1"},
		{"no port", "http:\n  listen: localhost\n", `c.yaml:2: http.listen: "localhost" is not host:port with a port from 0 to 65535`},
		{"a port too high", "http:\n  listen: :99999\n", `c.yaml:2: http.listen: ":99999" is not host:port with a port from 0 to 65535`},
		{"no web config", "http:\n  webConfig: /nowhere.yaml\n", "c.yaml:2: http.webConfig: stat /nowhere.yaml: no such file or directory"},
		{"a folder as web config", "http:\n  webConfig: /\n", `c.yaml:2: http.webConfig: "/" is not a file`},
		{"a fraction", "contain: {cleanPolls: 1.5}\n", "c.yaml:1: contain.cleanPolls: 1.5 is not a whole number in range"},
		{"too long", "nvml: {period: 99999999h}\n", "c.yaml:1: nvml.period: 99999999h is too long"},
		{"no Node's name", "mode: contain\nnode: Node_1\n", `c.yaml:2: node: "Node_1" is not a Node's name: lower case letters, digits, '-' and '.', at most 253`},
		{"a link that no GPU has", "nvml:\n  linkSwitches: {36: x}\n", `c.yaml:2: nvml.linkSwitches: "36" is not a link's number, 0 to 35`},
		{"a switch without a name", "nvml:\n  linkSwitches: {3: \"\"}\n", "c.yaml:2: nvml.linkSwitches: link 3 has no name"},
		{"a link twice", "nvml: {linkSwitches: {3: x, 03: y}}\n", "c.yaml:1: nvml.linkSwitches: link 3 is given twice"},
		{"no links", "nvml: {linkSwitches: 3}\n", `c.yaml:1: nvml.linkSwitches: "3" is not a map from link number to name`},
		{"half a link", "nvml: {linkSwitches: {1.5: x}}\n", `c.yaml:1: nvml.linkSwitches: "1.5" is not a link's number, 0 to 35`},
		{"a scalar", "hello\n", "c.yaml:1: the file must hold keys and values"},
		{"a list", "# ours\n- a\n", "c.yaml:2: the file must hold keys and values"},
		{"a scalar for a section", "nvml: 5\n", "c.yaml:1: nvml: must hold keys and values"},
		{"an alias", "nvml: &x {period: 5s}\ndcgm: *x\n", "c.yaml:2: dcgm: an alias; write the value itself"},
		{"an alias in a list", "node: &x a\nkernelLog:\n  journalPaths: [*x]\n", "c.yaml:3: kernelLog.journalPaths: an alias; write the value itself"},
		{"no slowdown", "nvml: {slowdown: 0s}\n", "c.yaml:1: nvml.slowdown: 0s is not above zero"},
		{"the first of two on a line", "nvml: {period: x, slowPeriod: y}\n", `c.yaml:1: nvml.period: "x" is not a duration; write it as 90s, 10m or 24h`},
		{"a tab", "mode: contain\n\t- x\n", "c.yaml:2: found a tab character that violates indentation"},
		{"a control character in a key", `"\e[31m": 1`, `c.yaml:1: \x1b[31m: unknown key`},
		{"a control character in a value", `contain: {cleanPolls: "\e[31m"}`, `c.yaml:1: contain.cleanPolls: "\x1b[31m" is not a whole number in range`},
		{"not YAML", "mode: [\n", "c.yaml:1: did not find expected node content"},
		{"two documents", "mode: contain\n---\nmode: observe\n", "c.yaml:2: a second YAML document, where one is all that is read"},
		{"a key twice", "mode: contain\nmode: observe\n", "c.yaml:2: mode: given before, at line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(c.in))
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEmptyFileIsTheDefault(t *testing.T) {
	for _, in := range []string{"", "# nothing\n"} {
		got, err := Parse("c.yaml", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Default(), got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", in, diff)
		}
	}
}

func TestShippedFileIsTheDefault(t *testing.T) {
	got, err := Load(filepath.Join("..", "..", "packaging", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("the shipped file changes a default (-default +file)\n%s", diff)
	}
}

func TestShippedFileNamesEveryField(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "packaging", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var shipped, all yaml.Node
	whole, err := yaml.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	for doc, into := range map[string]*yaml.Node{string(data): &shipped, string(whole): &all} {
		if err := yaml.Unmarshal([]byte(doc), into); err != nil {
			t.Fatal(err)
		}
	}
	named := map[string]bool{}
	walk(&shipped, "", func(path string, _ int) { named[path] = true })
	walk(&all, "", func(path string, _ int) {
		if !named[path] {
			t.Errorf("packaging/config.yaml does not name %s", path)
		}
	})
}

func TestPrintedConfigReadsBack(t *testing.T) {
	want := Default()
	want.NVML.Period, want.NVML.SlowPeriod = Duration(90*time.Second), Duration(3*time.Minute)
	data, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("printed", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestALongFileIsRefusedUnread(t *testing.T) {
	if _, err := Load("/dev/zero"); err == nil || err.Error() != "/dev/zero: larger than 1 MiB: not a configuration" {
		t.Error(err)
	}
}

func TestNodeNames(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "gpu-1.rack-2": true, "-a": false, "a-": false, "a..b": false, "A": false,
		strings.Repeat("a", 253): true, strings.Repeat("a", 254): false, "a\n": false} {
		if nodeName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("mode: contain\nnvml: {period: 5s}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := Parse("f", data); err == nil && c.check() != nil {
			t.Errorf("accepted what check refuses: %q", data)
		}
	})
}

func TestWhereTheDaemonAnswers(t *testing.T) {
	for listen, want := range map[string]string{
		":9878": "http://127.0.0.1:9878", "0.0.0.0:80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80",
		"10.0.0.1:9878": "http://10.0.0.1:9878", "[::1]:9878": "http://[::1]:9878", "127.0.0.1:0": "", "": "",
	} {
		if got := (HTTP{Listen: listen}).URL(); got != want {
			t.Errorf("%q: %q, want %q", listen, got, want)
		}
	}
}
