package pods

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
)

func TestWorkloads(t *testing.T) {
	k := kubelet.Start(t)
	k.Give("team", "train-0-x7k2p", "nvidia.com/gpu", "GPU-0", "GPU-1")
	k.Give("team", "train-17-bcdfg", "nvidia.com/gpu", "GPU-2")
	k.Claim("serve", "llm-0-3", "gpu.nvidia.com", "gpu-3")
	k.Give("team", "network", "nvidia.com/rdma", "x")
	got, err := asking(t, k.Socket).Workloads(t.Context())
	if want := []string{"serve/llm", "team/train"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	gone := filepath.Join(t.TempDir(), "kubelet.sock")
	if got, err := asking(t, gone).Workloads(t.Context()); err == nil || got != nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("no kubelet: %q, %v", got, err)
	}
}

func TestStem(t *testing.T) {
	for name, want := range map[string]string{
		"train":                 "train",
		"train-0":               "train",
		"train-0-3":             "train",
		"train-workers-0-x7k2p": "train-workers",
		"web-5d8f7c9b6-x7k2p":   "web",
		"0-1":                   "0",
		"-1":                    "-1",
		"a-":                    "a-",
		"llama-serve":           "llama-serve",
		"run-v5":                "run-v5",
	} {
		if got := stem(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
