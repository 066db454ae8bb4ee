package holders

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// real looks at the processes of this machine for files in a folder of our own.
func real(t *testing.T) Options {
	t.Helper()
	dev := filepath.Join(t.TempDir(), "dev")
	write(t, dev, map[string]string{"nvidia0": "", "nvidia1": "", "nvidiactl": "", "nvidia-uvm": ""})
	// In some sandboxes nobody may look into the first process.
	return Options{Proc: "/proc", Dev: dev, GPUs: two(), Except: []int{1}}
}

func TestRealProcesses(t *testing.T) {
	options := real(t)
	if found := Scan(options); len(found.Processes) > 0 || found.Unknown != "" {
		t.Fatalf("before: %+v", found)
	}
	on0 := startHolder(t, "close", options.Dev+"/nvidia0")
	leaderless := startHolder(t, "leaderless", options.Dev+"/nvidia1")
	startHolder(t, "", options.Dev+"/nvidiactl") // of no GPU
	excepted := startHolder(t, "", options.Dev+"/nvidia1")
	options.Except = append(options.Except, excepted.cmd.Process.Pid)
	if err := os.Remove(options.Dev + "/nvidia1"); err != nil {
		t.Fatal(err)
	}

	gpus := map[int][]string{}
	for _, p := range Scan(options).Processes {
		gpus[p.PID] = p.GPUs
		if p.Name != "exe" || p.Stuck || p.PodUID != "" {
			t.Errorf("%+v", p)
		}
	}
	want := map[int][]string{on0.cmd.Process.Pid: {"GPU-0"}, leaderless.cmd.Process.Pid: {"GPU-1"}}
	if !reflect.DeepEqual(gpus, want) {
		t.Errorf("held by %v, want %v", gpus, want)
	}

	if err := on0.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	on0.awaits(t, "closed")
	if err := leaderless.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = leaderless.cmd.Wait()
	if found := Scan(options); len(found.Processes) > 0 || found.Unknown != "" {
		t.Errorf("after: %+v", found)
	}
}

const (
	running = "Name:\tx\nState:\tS (sleeping)\nSigPnd:\t0000000000000000\n"
	killed  = "Name:\tx\nState:\tD (disk sleep)\nSigPnd:\t0000000000000100\n"
	disk    = "Name:\tx\nState:\tD (disk sleep)\nSigPnd:\t0000000000000000\n"
	uid     = "0c7f5f5e-8f5b-4a53-9c3a-3f1a2b4c5d6e"
	slice   = "0::/kubepods.slice/kubepods-pod0c7f5f5e_8f5b_4a53_9c3a_3f1a2b4c5d6e.slice/cri-containerd-1.scope\n"
)

func TestScan(t *testing.T) {
	capabilities := map[string]string{
		"driver/nvidia/capabilities/gpu1/mig/gi3/access":     "DeviceFileMinor: 30\nDeviceFileMode: 292\n",
		"driver/nvidia/capabilities/gpu1/mig/gi3/ci0/access": "DeviceFileMinor: 31\n",
		"driver/nvidia/capabilities/gpu1/mig/gi4/access":     "garbage",
	}
	tests := []struct {
		name    string
		proc    []map[string]string
		want    []Process
		unknown string
	}{
		{name: "nobody"},
		{name: "pod", proc: []map[string]string{process(9, "python3", slice, running, "/dev/nvidia1")},
			want: []Process{{PID: 9, Name: "python3", PodUID: uid, GPUs: []string{"GPU-1"}}}},
		{name: "another root", proc: []map[string]string{process(9, "python3", "0::/\n", running, "/run/nvidia/driver/dev/nvidia1")},
			want: []Process{{PID: 9, Name: "python3", GPUs: []string{"GPU-1"}}}},
		{name: "killed and stuck", proc: []map[string]string{process(9, "python3", "0::/\n", killed, "/dev/nvidia0 (deleted)")},
			want: []Process{{PID: 9, Name: "python3", GPUs: []string{"GPU-0"}, Stuck: true}}},
		{name: "waits for a disk", proc: []map[string]string{process(9, "python3", "0::/\n", disk, "/dev/nvidia0")},
			want: []Process{{PID: 9, Name: "python3", GPUs: []string{"GPU-0"}}}},
		{name: "hostile name", proc: []map[string]string{process(9, "a\nb\x1b[2J\xff"+strings.Repeat("€", 40), "0::/\n", running, "/dev/nvidia0")},
			want: []Process{{PID: 9, Name: "a�b�[2J�" + strings.Repeat("€", 16), GPUs: []string{"GPU-0"}}}},
		{name: "MIG instance", proc: []map[string]string{capabilities, process(9, "python3", "0::/\n", running, "/dev/nvidia-caps/nvidia-cap31")},
			want: []Process{{PID: 9, Name: "python3", GPUs: []string{"GPU-1"}}}},
		{name: "MIG as a whole", proc: []map[string]string{capabilities, process(9, "mig-manager", "0::/\n", running, "/dev/nvidia-caps/nvidia-cap1")}},
		{name: "other files", proc: []map[string]string{
			process(9, "a", "0::/\n", running, "/dev/nvidia7"), process(10, "b", "0::/\n", running, "/dev/nvidia"),
			process(11, "c", "0::/\n", running, "/tmp/nvidia0"), process(12, "d", "0::/\n", running, "/dev/nvidia-1"),
			process(13, "e", "0::/\n", running, "socket:[77]"),
		}},
		{name: "ends meanwhile", proc: []map[string]string{{"9/comm": "x\n"}}},
		{name: "may not be looked into", proc: []map[string]string{{"9/fd": "", "10/fd": ""}, process(11, "c", "0::/\n", running, "/dev/nvidia0")},
			want: []Process{{PID: 11, Name: "c", GPUs: []string{"GPU-0"}}}, unknown: "not a directory, and 1 more processes"},
		{name: "one container only", proc: []map[string]string{{"self": "->1"}}, unknown: "hostPID is missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			proc := t.TempDir()
			for _, files := range test.proc {
				write(t, proc, files)
			}
			found := Scan(Options{Proc: proc, Dev: "/dev", GPUs: two()})
			if !reflect.DeepEqual(found.Processes, test.want) {
				t.Errorf("got %+v, want %+v", found.Processes, test.want)
			}
			if (found.Unknown != "") != (test.unknown != "") || !strings.Contains(found.Unknown, test.unknown) {
				t.Errorf("unknown %q, want %q", found.Unknown, test.unknown)
			}
		})
	}
}

func TestMinorOfALostGPU(t *testing.T) {
	proc := t.TempDir()
	lost := GPU{Device: fault.Device{PCI: xidparse.PCI{Bus: 0x3b}}}
	write(t, proc, process(9, "python3", "0::/\n", killed, "/dev/nvidia5"))
	options := Options{Proc: proc, Dev: "/dev", GPUs: []GPU{lost}}
	if found := Scan(options); !strings.Contains(found.Unknown, "GPU 0000:3b:00: device file not known") {
		t.Errorf("without the driver's folder: %+v", found)
	}
	information := "driver/nvidia/gpus/0000:3b:00.0/information"
	write(t, proc, map[string]string{information: "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-????????-????\nDevice Minor: \t 5\n"})
	found := Scan(options)
	want := []remediate.Holder{{GPU: "0000:3b:00", PID: 9, Process: "python3", Pod: "pod of ", Stuck: true}}
	if got := found.Holders(func(uid string) string { return "pod of " + uid }); !reflect.DeepEqual(got, want) || found.Unknown != "" {
		t.Errorf("got %+v, %s; want %+v", got, found.Unknown, want)
	}
}

func TestProcessesOfNoFolderAreUnknown(t *testing.T) {
	if found := Scan(Options{Proc: filepath.Join(t.TempDir(), "none"), Dev: "/dev", GPUs: two()}); found.Unknown == "" {
		t.Errorf("%+v", found)
	}
}

func BenchmarkScan(b *testing.B) {
	proc := b.TempDir()
	for pid := range 1000 {
		write(b, proc, process(pid+1, "x", slice, running, "/dev/null"))
	}
	for b.Loop() {
		if found := Scan(Options{Proc: proc, Dev: "/dev", GPUs: two()}); found.Unknown != "" {
			b.Fatal(found.Unknown)
		}
	}
}
