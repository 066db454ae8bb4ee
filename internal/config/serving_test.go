package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{period: 500ms}":               "serving.period: 500ms is less than 1s",
		"{stall: 4s, period: 2s}":       "serving.stall: 4s is less than 5s",
		"{stall: 8s}":                   "serving.stall: 8s is less than two of serving.period",
		"{dialects: mine.yaml}":         `serving.dialects: "mine.yaml" is not an absolute path`,
		"{prometheus: prometheus:9090}": `serving.prometheus: "prometheus:9090" is not a URL`,
		"{canary: {enabled: true}}":     "serving.canary.enabled: true, and serving.enabled is not",
		"{canary: {period: 1s}}":        "serving.canary.period: 1s is less than 5s",
		"{canary: {perMinute: 0}}":      "serving.canary.perMinute: 0 is not from 1 to 600",
		"{canary: {rate: -1}}":          "serving.canary.rate: -1 is not from 0 to 1000",
		"{canary: {rate: .nan}}":        "serving.canary.rate: NaN is not from 0 to 1000",
		"{canary: {rate: .inf}}":        "serving.canary.rate: +Inf is not from 0 to 1000",
		"{canary: {frozen: 2h}}":        "serving.canary.frozen: 2h0m0s is more than 10m0s",
		"{canary: {firstToken: 20s}}":   "serving.canary.firstToken: 20s is more than serving.canary.frozen, 15s",
		"{probation: never}":            `serving.probation: "never" is not gated or every`,
		"{probationLimit: -1m}":         "serving.probationLimit: -1m is negative",
		"{engines: [{name: a, urls: ['http://h/m'], process: p, canary: h}]}": `serving.engines[0].canary: "h" is not none, nor a URL`,
		"{disaggregated: {enabled: true}}":                                    "serving.disaggregated.enabled: true, and serving.enabled is not",
		"{disaggregated: {roleLabels: []}}":                                   "serving.disaggregated.roleLabels: [] are not one or more keys of labels",
		"{disaggregated: {groupLabels: ['a b']}}":                             `serving.disaggregated.groupLabels: ["a b"] are not`,
		"{disaggregated: {prefill: [a/b]}}":                                   `serving.disaggregated.prefill: ["a/b"] are not one or more values`,
		"{disaggregated: {decode: [d, prefill]}}":                             `serving.disaggregated.decode: ["d" "prefill"] has a value of prefill`,
		"{disaggregated: {kvLease: 0s}}":                                      `serving.disaggregated.kvLease: "0s" is not auto, or a duration above zero`,
		"{disaggregated: {rollout: {limit: 61m}}}":                            "serving.disaggregated.rollout.limit: 1h1m0s is more than 1h0m0s",
		"{disaggregated: {rollout: {settle: -1s}}}":                           "serving.disaggregated.rollout.settle: -1s is negative",
		"{restartStalePeers: true}":                                           "serving.restartStalePeers: true, and serving.disaggregated.enabled is not",
		"{enabled: true, disaggregated: {enabled: true}, restartStalePeers: true}\nguards: {enabled: false}": "serving.restartStalePeers: true, and guards.enabled is not",
		"{engines: [{nme: a}]}": "c.yaml:1: serving.engines[0].nme: unknown key",
		"{engines: [a]}":        "serving.engines[0]: must hold keys and values",
		"{engines: {a: b}}":     "serving.engines: ",
		"{engines: [{urls: ['http://h/'], process: p}]}":                                                              `serving.engines[0].name: "" is empty`,
		"{engines: [{name: a/b, urls: ['http://h/'], process: p}]}":                                                   `serving.engines[0].name: "a/b" is empty, has a slash`,
		"{engines: [{name: a, urls: [h], process: p}]}":                                                               `c.yaml:1: serving.engines[0].urls: ["h"] are not URLs`,
		"{engines: [{name: a, urls: ['http://h/m']}]}":                                                                "serving.engines[0].gpus: one of gpus and process",
		"{engines: [{name: a, urls: ['http://h/m'], gpus: [GPU-1]}, {name: a, urls: ['http://h/m'], gpus: [GPU-2]}]}": `serving.engines[1].name: "a"`,
		"{engines: [{name: a, urls: ['http://h/m'], gpus: [0]}]}":                                                     `c.yaml:1: serving.engines[0].gpus: "0" is not the UUID of a GPU or MIG device, such as nvidia-smi -L lists`,
		"{engines: [{name: a, urls: ['http://h/m'], process: VLLM::EngineCore}]}":                                     `serving.engines[0].process: "VLLM::EngineCore" is longer than the 15 bytes of a name that the kernel keeps: "VLLM::EngineCor"`,
		"{engines: [{name: a, urls: ['http://h/m'], process: p}, {name: b, urls: ['http://h/n'], process: p}]}":       `serving.engines[1].process: "p" is that of the engine a too`,
		"{engines: [{name: a, urls: ['http://h/m'], process: p}, {name: b, urls: ['http://h/m'], process: q}]}":       `serving.engines[1].urls: "http://h/m" is there before, of the engine a`,
		"{engines: [{name: a, urls: ['http://h/m', 'http://h/m'], process: p}]}":                                      `serving.engines[0].urls: "http://h/m" is there before, of the engine a`,
		"{enabled: true, engines: [{name: a, urls: ['http://h/m'], process: p, dialect: vlm}]}":                       `c.yaml:1: serving.engines[0].dialect: "vlm" is not one of vllm, `,
	} {
		_, err := Parse("c.yaml", []byte("serving: "+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	c, err := Parse("c.yaml", []byte("serving: {enabled: true, engines: [{name: a, urls: ['http://h/m'], gpus: [GPU-1]}, {name: b, urls: ['http://h/n'], process: vllm}]}"))
	if err != nil || len(c.Serving.Engines) != 2 || c.Serving.Engines[1].Process != "vllm" || c.Serving.Engines[0].GPUs[0] != "GPU-1" {
		t.Errorf("%+v, %v", c.Serving, err)
	}
	c, err = Parse("c.yaml", []byte("serving: {enabled: true, disaggregated: {enabled: true, kvLease: 45s}, restartStalePeers: true}"))
	if d := c.Serving.Disaggregated; err != nil || time.Duration(d.KVLease) != 45*time.Second || len(d.Prefill) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// What a file of dialects has wrong is told by whoever reads the configuration, in the
// daemon's words.
func TestDialectsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dialects.yaml")
	parse := func(rest string) error {
		_, err := Parse("c.yaml", []byte("\nserving: {dialects: "+path+", "+rest+"}"))
		return err
	}
	missing := parse("enabled: true")
	if missing == nil || !strings.HasPrefix(missing.Error(), "c.yaml:2: serving.dialects: ") || !strings.Contains(missing.Error(), path+": no such file") {
		t.Errorf("no file: %v", missing)
	}
	for text, want := range map[string]string{
		"- {name: mine, runs: [x]}":                    "dialects: line 1: field runs not found",
		"- {name: mine, known: [x], running: [a - b]}": "dialects[0].running[0]: ",
		"- {name: mine, nme: x,\n runs: [x]}":          "dialects: line 1: field nme not found in type serving.Dialect; line 2: field runs not found",
		"- {name: mine}":                               "dialects[0].known: is empty",
		"mine":                                         "dialects: line 1: cannot unmarshal",
		"\xff\xfe":                                     "it is not UTF-8 text",
		strings.Repeat("#", maxSize+1):                 "larger than 1 MiB",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := parse("enabled: true"); err == nil || !strings.HasPrefix(err.Error(), "c.yaml:2: serving.dialects: "+path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
		if err := parse("enabled: false"); err != nil {
			t.Errorf("%.30q, which nobody reads: %v", text, err)
		}
	}
	if err := os.WriteFile(path, []byte("- {name: mine, known: [x], running: [x]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := parse("enabled: true, engines: [{name: a, urls: ['http://h/m'], process: p, dialect: mine}]"); err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsNoText(t *testing.T) {
	t.Parallel()
	if _, err := Parse("c.yaml", []byte("\xff\xfe")); err == nil || err.Error() != "c.yaml: it is not UTF-8 text" {
		t.Error(err)
	}
}

// Only pods are restarted, and where there are none the default is that nobody does.
func TestRestartMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{mode: repair}": "pods",
		"{mode: repair, repair: {restart: {mode: pods}}}":                                        "pods",
		"{mode: repair, repair: {restart: {mode: 'off'}}}":                                       "off",
		"{mode: repair, actuator: log, repair: {drain: {mode: 'off'}}}":                          "off",
		"{mode: repair, actuator: slurm, repair: {drain: {mode: slurm}}}":                        "off",
		"{mode: contain, actuator: log, repair: {restart: {mode: pods}}}":                        "pods",
		"{mode: repair, actuator: log, repair: {drain: {mode: 'off'},\n restart: {mode: pods}}}": "c.yaml:2: repair.restart.mode: pods, and the actuator is not kubernetes",
		"{mode: repair, repair: {restart: {mode: slurm}}}":                                       `c.yaml:1: repair.restart.mode: "slurm" is not auto, off or pods`,
	} {
		c, err := Parse("c.yaml", []byte(text))
		got := string(c.Policy().Restart.Mode)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
