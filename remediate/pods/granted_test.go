package pods

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
)

func TestGranted(t *testing.T) {
	k := kubelet.Start(t)
	k.Give("ns", "whole", resource, "GPU-1", "GPU-0")
	k.Give("ns", "shared", "nvidia.com/gpu.shared", "GPU-1::0")
	k.Give("ns", "mig", "nvidia.com/mig-1g.10gb", "MIG-20", "MIG-31::4", "MIG-21", "MIG-99")
	k.Claim("ns", "claimed", "gpu.nvidia.com", "gpu-9", "nvidia.com/gpu=GPU-2", "nvidia.com/gpu=MIG-30")
	k.Claim("ns", "nameless", "gpu.nvidia.com", "gpu-2-mig-1g10gb-19-0")
	k.Give("ns", "unknown", resource, "GPU-9")
	k.Give("ns", "other", "example.com/gpu", "GPU-0")
	p := asking(t, k.Socket)
	p.options.GPUs = four
	got, err := p.Granted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := func(pod string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: pod} }
	want := []Grant{
		{Pod: name("whole"), GPUs: []string{"GPU-0", "GPU-1"}},
		{Pod: name("shared"), GPUs: []string{"GPU-1"}},
		{Pod: name("mig"), GPUs: []string{"MIG-20", "MIG-21", "MIG-31"}, Unknown: []string{`"nvidia.com/mig-1g.10gb MIG-99"`}},
		{Pod: name("claimed"), GPUs: []string{"GPU-2", "MIG-30"}},
		{Pod: name("nameless"), GPUs: []string{"GPU-2"}},
		{Pod: name("unknown"), Unknown: []string{`"nvidia.com/gpu GPU-9"`}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	k.Fail(errors.New("no list today"))
	if got, err := p.Granted(t.Context()); err == nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
