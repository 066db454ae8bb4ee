package config

import (
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
		"{canary: {rate: -1}}":          "serving.canary.rate: -1 is negative",
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
	} {
		_, err := Parse("c.yaml", []byte("serving: "+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	c, err := Parse("c.yaml", []byte("serving: {enabled: true, engines: [{name: a, urls: ['http://h/m'], gpus: [GPU-1]}, {name: b, urls: ['http://h/m'], process: vllm}]}"))
	if err != nil || len(c.Serving.Engines) != 2 || c.Serving.Engines[1].Process != "vllm" || c.Serving.Engines[0].GPUs[0] != "GPU-1" {
		t.Errorf("%+v, %v", c.Serving, err)
	}
	c, err = Parse("c.yaml", []byte("serving: {enabled: true, disaggregated: {enabled: true, kvLease: 45s}, restartStalePeers: true}"))
	if d := c.Serving.Disaggregated; err != nil || time.Duration(d.KVLease) != 45*time.Second || len(d.Prefill) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}
