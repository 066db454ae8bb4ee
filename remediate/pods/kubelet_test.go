package pods

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// asking asks a kubelet, and no API server.
func asking(t *testing.T, socket string) *Pods {
	t.Helper()
	p, err := New(Options{Node: "n", Config: &rest.Config{Host: "https://127.0.0.1:1"}, Socket: socket, Resources: DefaultResources()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGrants(t *testing.T) {
	devices := func(resource string, ids ...string) *podresources.ContainerResources {
		return &podresources.ContainerResources{Devices: []*podresources.ContainerDevices{{ResourceName: resource, DeviceIds: ids}}}
	}
	tests := []struct {
		name    string
		give    func(*kubelet.Kubelet)
		gpus    []string
		unknown []string
	}{
		{name: "whole GPUs", give: func(k *kubelet.Kubelet) { k.Give("ns", "pod", "nvidia.com/gpu", "GPU-1", "GPU-0") }, gpus: []string{"GPU-0", "GPU-1"}},
		{name: "shares of one", give: func(k *kubelet.Kubelet) { k.Give("ns", "pod", "nvidia.com/gpu.shared", "GPU-1::0", "GPU-1::7") }, gpus: []string{"GPU-1"}},
		{name: "MIG instances", give: func(k *kubelet.Kubelet) {
			k.Give("ns", "pod", "nvidia.com/mig-1g.10gb", "MIG-20", "MIG-31::4", "MIG-GPU-0/3/0")
		}, gpus: []string{"GPU-0", "GPU-2", "GPU-3"}},
		{name: "passed through", give: func(k *kubelet.Kubelet) { k.Give("ns", "pod", "nvidia.com/gpu", "0000:1B:00.0") }, gpus: []string{"GPU-1"}},
		{name: "claim by UUID in CDI", give: func(k *kubelet.Kubelet) {
			k.Claim("ns", "pod", "gpu.nvidia.com", "gpu-9", "nvidia.com/gpu=GPU-2", "nvidia.com/gpu=MIG-30")
		}, gpus: []string{"GPU-2", "GPU-3"}},
		{name: "claim by index in CDI", give: func(k *kubelet.Kubelet) {
			k.Claim("ns", "pod", "example.com", "x", "nvidia.com/gpu=0", "nvidia.com/gpu=mig1:0", "nvidia.com/gpu=gpu3")
		}, gpus: []string{"GPU-0", "GPU-2", "GPU-3"}},
		{name: "claim of all in CDI", give: func(k *kubelet.Kubelet) { k.Claim("ns", "pod", "example.com", "x", "nvidia.com/gpu=all") },
			gpus: []string{"GPU-0", "GPU-1", "GPU-2", "GPU-3"}},
		{name: "claim by the driver's name", give: func(k *kubelet.Kubelet) {
			k.Claim("ns", "pod", "gpu.nvidia.com", "gpu-1", "k8s.gpu.nvidia.com/claim=0c7f-gpu-1")
			k.Claim("ns", "pod", "gpu.nvidia.com", "gpu-2-mig-1g10gb-19-0")
		}, gpus: []string{"GPU-1", "GPU-2"}},
		{name: "several containers", give: func(k *kubelet.Kubelet) {
			k.Add("ns", "pod", devices("nvidia.com/gpu", "GPU-0"))
			k.Add("ns", "pod", devices("nvidia.com/gpu", "GPU-1"))
		}, gpus: []string{"GPU-0", "GPU-1"}},
		{name: "no GPUs", give: func(k *kubelet.Kubelet) {
			k.Give("ns", "pod", "nvidia.com/hostdev", "0000:1b:00.0")
			k.Give("ns", "pod", "example.com/gpu", "GPU-0")
			k.Claim("ns", "pod", "net.example.com", "gpu-0", "example.com/net=0")
			k.Add("ns", "pod", &podresources.ContainerResources{CpuIds: []int64{0, 1}})
		}},
		{name: "nobody's", give: func(k *kubelet.Kubelet) {
			k.Give("ns", "pod", "nvidia.com/gpu", "GPU-9", "", "GPU-", "::")
			k.Claim("ns", "pod", "gpu.nvidia.com", "gpu-vfio-0", "nvidia.com/gpu=4")
		}, unknown: []string{`"nvidia.com/gpu GPU-9"`, `"nvidia.com/gpu "`, `"nvidia.com/gpu GPU-"`, `"nvidia.com/gpu ::"`, `"gpu.nvidia.com pool/gpu-vfio-0"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := kubelet.Start(t)
			test.give(k)
			grants, err := asking(t, k.Socket).grants(t.Context(), four())
			if err != nil {
				t.Fatal(err)
			}
			var gpus, unknown []string
			for _, g := range grants {
				if g.pod.String() != "ns/pod" {
					t.Errorf("pod %s", g.pod)
				}
				gpus, unknown = append(gpus, g.gpus...), append(unknown, g.unknown...)
			}
			slices.Sort(gpus)
			if !reflect.DeepEqual(gpus, test.gpus) || !reflect.DeepEqual(unknown, test.unknown) {
				t.Errorf("got %v and %v, want %v and %v", gpus, unknown, test.gpus, test.unknown)
			}
		})
	}
}

func TestKubeletThatDoesNotAnswerWell(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "silent.sock")
	listener, err := net.Listen("unix", silent)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	nameless, failing := kubelet.Start(t), kubelet.Start(t)
	nameless.Give("ns", "", "nvidia.com/gpu", "GPU-0")
	failing.Fail(errors.New("no list today"))
	tests := []struct{ name, socket, want string }{
		{"silent", silent, "DeadlineExceeded"},
		{"nameless", nameless.Socket, `a pod without name or namespace: "ns/"`},
		{"failing", failing.Socket, "no list today"},
		{"absent", filepath.Join(t.TempDir(), "none.sock"), "none.sock"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			grants, err := asking(t, test.socket).grants(ctx, four())
			if err == nil || len(grants) > 0 || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.socket) {
				t.Errorf("got %v, %v; want an error with %q", grants, err, test.want)
			}
		})
	}
}

// A lost GPU may be known by its address alone, on either side.
func TestDevicesOfNoUUID(t *testing.T) {
	lost := fault.Device{PCI: xidparse.PCI{Bus: 0x1b}}
	tests := []struct {
		name   string
		device fault.Device
		want   string
		known  int
	}{
		{"by UUID", device(1), "GPU-1", 4},
		{"by address", lost, "GPU-1", 4},
		{"another at the address", fault.Device{UUID: "GPU-new", PCI: lost.PCI}, "GPU-new", 5},
		{"not in the inventory", fault.Device{PCI: xidparse.PCI{Bus: 0x99}}, "0000:99:00", 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := inventory(four()).with([]fault.Device{test.device})
			if got := all.name(test.device); got != test.want || len(all) != test.known {
				t.Errorf("%q of %d, want %q of %d", got, len(all), test.want, test.known)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	for want, options := range map[string]Options{
		"no node name":     {Config: config},
		`resource "a["`:    {Config: config, Node: "n", Resources: []string{"a["}},
		"client for the p": {Config: &rest.Config{Host: "::"}, Node: "n"},
	} {
		if _, err := New(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"GPU-0", "GPU-1::3", "MIG-20", "0", "mig1:0", "all", "gpu-2-mig-1g10gb-19-0", "0000:1A:00.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, found := range [][]string{inventory(four()).byID(name), inventory(four()).byCDI(name), inventory(four()).byDRA(name)} {
			if len(found) > 1 && name != "all" {
				t.Errorf("%q is %v", name, found)
			}
		}
	})
}
