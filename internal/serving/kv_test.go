package serving

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestKVTransfer(t *testing.T) {
	const plain = `{"kv_connector":"NixlConnector","kv_load_failure_policy":"recompute","kv_connector_extra_config":{"kv_lease_duration":60}}`
	recompute, unknown := transfer{"recompute", time.Minute}, transfer{}
	tests := []struct {
		name string
		of   corev1.Container
		want transfer
	}{
		{name: "nothing", want: unknown},
		{name: "two arguments", of: corev1.Container{Args: []string{"serve", "--kv-transfer-config", plain, "--port"}}, want: recompute},
		{name: "one argument", of: corev1.Container{Command: []string{"vllm", "--kv-transfer-config=" + plain}}, want: recompute},
		{name: "underscores", of: corev1.Container{Args: []string{"--kv_transfer_config", plain}}, want: recompute},
		{name: "a line for a shell", of: corev1.Container{Command: []string{"sh", "-c"},
			Args: []string{"exec vllm serve m \\\n  --kv-transfer-config \\\n '" + plain + "' --port 8000"}}, want: recompute},
		{name: "a variable", of: corev1.Container{Args: []string{"--kv-transfer-config", "$(KV)"}, Env: []corev1.EnvVar{{Name: "KV", Value: plain}}}, want: recompute},
		{name: "a variable that is elsewhere", of: corev1.Container{Args: []string{"--kv-transfer-config", "$(KV)"}}, want: unknown},
		{name: "nothing behind it", of: corev1.Container{Args: []string{"--kv-transfer-config"}}, want: unknown},
		{name: "cut", of: corev1.Container{Args: []string{"--kv-transfer-config", plain[:40]}}, want: unknown},
		{name: "escaped", of: corev1.Container{Args: []string{`--kv-transfer-config "{\"kv_load_failure_policy\":\"fail\"}"`}}, want: unknown},
		{name: "another policy", of: corev1.Container{Args: []string{"--kv-transfer-config", `{"kv_load_failure_policy":"retry\u001b[2J"}`}}, want: unknown},
		{name: "other types", of: corev1.Container{Args: []string{"--kv-transfer-config", `{"kv_load_failure_policy":"fail","kv_connector_extra_config":[1]}`}}, want: transfer{"fail", 0}},
		{name: "a lease of years", of: corev1.Container{Args: []string{"--kv-transfer-config", `{"kv_connector_extra_config":{"kv_lease_duration":1e12}}`}}, want: unknown},
		{name: "a list", of: corev1.Container{Args: []string{"--kv-transfer-config", "[]"}}, want: unknown},
		{name: "key by key", of: corev1.Container{Args: []string{"serve", "m", "--kv-transfer-config.kv_connector", "NixlConnector",
			"--kv-transfer-config.kv_load_failure_policy", "recompute", "--kv-transfer-config.kv_connector_extra_config.kv_lease_duration=60"}}, want: recompute},
		{name: "key by key, with underscores", of: corev1.Container{Args: []string{"--kv_transfer_config.kv_load_failure_policy=recompute",
			"--kv_transfer_config.kv_connector_extra_config", `{"backends":["UCX"],"kv_lease_duration":60}`}}, want: recompute},
		{name: "key by key, in a line for a shell", of: corev1.Container{Command: []string{"sh", "-c"},
			Args: []string{"exec vllm serve m --kv-transfer-config.kv_load_failure_policy='recompute' \\\n  \"--kv-transfer-config.kv_connector_extra_config.kv_lease_duration\" 60 --port 8000"}}, want: recompute},
		{name: "key by key, merged", of: corev1.Container{Args: []string{"--kv-transfer-config.kv_connector_extra_config.kv_lease_duration", "60",
			"--kv-transfer-config.kv_connector_extra_config", `{"backends":["UCX"]}`, "--kv-transfer-config.kv_load_failure_policy", "fail",
			"--kv-transfer-config.kv_load_failure_policy", "$(POLICY)"}, Env: []corev1.EnvVar{{Name: "POLICY", Value: "recompute"}}}, want: recompute},
		{name: "key by key beside JSON, which then counts for nothing", of: corev1.Container{Args: []string{"--kv-transfer-config", plain,
			"--kv-transfer-config.kv_connector=NixlConnector"}}, want: unknown},
		{name: "another key", of: corev1.Container{Args: []string{"--kv-transfer-config.kv_load_failure_policy.x", "fail", "--kv-transfer-config.kv_lease_duration=60"}}, want: unknown},
		{name: "no value", of: corev1.Container{Args: []string{"--kv-transfer-config.kv_load_failure_policy"}}, want: unknown},
		{name: "another flag", of: corev1.Container{Args: []string{"--kv-transfer-config-file.kv_load_failure_policy", "fail"}}, want: unknown},
		{name: "too long", of: corev1.Container{Args: []string{"--kv-transfer-config", `{"a":"` + strings.Repeat("x", kvLimit) + `"}`}}, want: unknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := transferOf(startedWith(startedWith(test.of))); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestLease(t *testing.T) {
	minute, abort := []string{kvFlag, `{"kv_connector_extra_config":{"kv_lease_duration":60}}`}, []corev1.EnvVar{{Name: abortVariable, Value: "120"}}
	tests := []struct {
		name string
		of   corev1.Container
		want time.Duration
	}{
		{"of 0.22", corev1.Container{Image: "docker.io/vllm/vllm-openai:v0.22.0"}, 30 * time.Second},
		{"of 0.22, told", corev1.Container{Image: "vllm/vllm-openai:v0.22", Args: minute}, time.Minute},
		{"of 0.22, told in the old way", corev1.Container{Image: "vllm/vllm-openai:v0.30.1-cu130", Env: abort}, 30 * time.Second},
		{"of 0.21", corev1.Container{Image: "registry:5000/vllm-openai:v0.21.1@sha256:ab"}, 8 * time.Minute},
		{"of 0.21, told in the new way", corev1.Container{Image: "vllm/vllm-openai:v0.21.1", Args: minute}, 8 * time.Minute},
		{"of 0.21, told", corev1.Container{Image: "vllm/vllm-openai:v0.21.1", Env: abort}, 2 * time.Minute},
		{"of 1.0", corev1.Container{Image: "vllm/vllm-openai:v1.0.0"}, 30 * time.Second},
		{"not known", corev1.Container{Image: "vllm/vllm-openai:latest"}, 8 * time.Minute},
		{"not known, told", corev1.Container{Image: "vllm/vllm-openai:nightly", Args: minute}, time.Minute},
		{"a version of another thing", corev1.Container{Image: "nvcr.io/nvidia/vllm:25.09-py3"}, 8 * time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := leaseOf(test.of); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// FuzzKVTransfer: whatever a pod is started with, it is some policy or none.
func FuzzKVTransfer(f *testing.F) {
	f.Add("vllm serve --kv-transfer-config '{\"kv_load_failure_policy\":\"fail\"}'")
	f.Add("--kv_transfer_config={\"kv_connector_extra_config\":{\"kv_lease_duration\":30}}")
	f.Add("--kv-transfer-config.kv_load_failure_policy fail --kv-transfer-config.kv_connector_extra_config.kv_lease_duration=0.5")
	f.Fuzz(func(t *testing.T, text string) {
		kept := startedWith(corev1.Container{Args: []string{text}})
		got := transferOf(kept)
		if got.onFailure != "" && got.onFailure != "fail" && got.onFailure != "recompute" || got.lease < 0 || got.lease > longestLease {
			t.Errorf("%+v", got)
		}
		if len(kept.Args) > 0 && len(kept.Args[1]) > kvLimit {
			t.Errorf("%d bytes are kept", len(kept.Args[1]))
		}
		if again := transferOf(startedWith(kept)); again != got {
			t.Errorf("%+v, and again %+v", got, again)
		}
	})
}
