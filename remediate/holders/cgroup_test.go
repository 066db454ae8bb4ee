package holders

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPodUID(t *testing.T) {
	const under = "0c7f5f5e_8f5b_4a53_9c3a_3f1a2b4c5d6e"
	tests := []struct{ name, cgroup, want string }{
		{"v2, systemd, containerd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-abc.scope\n", uid},
		{"v2, systemd, CRI-O", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice/crio-abc.scope/container\n", uid},
		{"v2, cgroupfs", "0::/kubepods/burstable/pod" + uid + "/abc\n", uid},
		{"v1", "12:memory:/kubepods/pod" + uid + "/abc\n11:cpu:/kubepods/pod" + uid + "/abc\n1:name=systemd:/x\n", uid},
		{"kubelet below a slice of its own", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice/cri-containerd-abc.scope", uid},
		{"seen from another cgroup namespace", "0::/../../kubepods-pod" + under + ".slice/cri-containerd-abc.scope\n", uid},
		{"static pod", "0::/kubepods/besteffort/pod" + strings.Repeat("0a", 16) + "/abc\n", strings.Repeat("0a", 16)},
		{"pod in a pod", "0::/kubepods/pod" + uid + "/abc/kubepods/pod11111111-1111-1111-1111-111111111111/def\n", uid},
		{"host service", "0::/system.slice/nvidia-persistenced.service\n", ""},
		{"looks like one", "0::/system.slice/podman-" + uid + ".scope\n", ""},
		{"no pod's number", "0::/kubepods/podabc/def\n", ""},
		{"nothing", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := podUID(test.cgroup); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzPodUID(f *testing.F) {
	f.Add("0::/kubepods/pod" + uid + "/abc\n")
	f.Add(slice)
	f.Fuzz(func(t *testing.T, cgroup string) {
		if got := podUID(cgroup); got != "" && (strings.Contains(got, "_") || len(got) != 36 && len(got) != 32) {
			t.Errorf("%q", got)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("python3\n")
	f.Add("a\x1b[2J\xff")
	f.Fuzz(func(t *testing.T, name string) {
		got := clean(name)
		if len(got) > nameLimit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x1b\x00") {
			t.Errorf("%q", got)
		}
	})
}
