package sim_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// tool is nvidia-smi on a node of its own.
type tool struct {
	*node.Node
	path string
}

func newTool(t *testing.T) tool {
	t.Helper()
	if out, err := exec.Command("make", "OUT=../build/sim").CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	path, err := filepath.Abs("../build/sim/nvidia-smi")
	must(t, err)
	n, err := node.New(t.TempDir(), "hgx-h100")
	must(t, err)
	return tool{n, path}
}

// run gives the tool's output and exit status.
func (s tool) run(t *testing.T, line string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.path, strings.Fields(line)...)
	cmd.Env = append(os.Environ(), s.Env("")...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// says fails the test unless the tool ends as it should.
func (s tool) says(t *testing.T, line, want string, status int) {
	t.Helper()
	if out, exit := s.run(t, line); exit != status || !strings.Contains(out, want) {
		t.Errorf("nvidia-smi %s: exit %d, want %d, and %q in:\n%s", line, exit, status, want, out)
	}
}

func TestSMITells(t *testing.T) {
	s := newTool(t)
	must(t, s.Lose("2"))
	s.says(t, "-L -i 0,1", "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-892f902b-d23f-0824-128b-2f330c5c7fd0)\n", 0)
	s.says(t, "--query-gpu=uuid,pci.bus_id,persistence_mode --format=csv,noheader -i 0000:43:00.0",
		"GPU-892f902b-d23f-0824-128b-2f330c5c7fd0, 00000000:43:00.0, Enabled\n", 0)
	s.says(t, "-L", "GPU is lost", 15)
	s.says(t, "--query-gpu=persistence_mode --format=csv,noheader -i 2", "GPU is lost", 15)
	s.says(t, "-L -i 9", "No devices were found", 6)
	s.says(t, "--query-gpu=colour --format=csv,noheader", `Field "colour" is not a valid field`, 2)
	for _, line := range []string{"", "-q", "-pm 2", "-pm", "--query-gpu=uuid", "--query-gpu=uuid --format=csv"} {
		s.says(t, line, "Invalid combination", 2)
	}
	must(t, os.Remove(filepath.Dir(s.KmsgPath())+"/node.conf"))
	s.says(t, "-L", "couldn't communicate with the NVIDIA driver", 9)
}

func TestSMIResets(t *testing.T) {
	s := newTool(t)
	must(t, s.Remap("1", "pending"))
	must(t, s.ECC("1", "dram", "uncorrected", 2))
	must(t, s.Recovery("1", 1))
	s.says(t, "--gpu-reset -i 1", "could not be reset:\n  GPU 00000000:43:00.0: In use by another client", 255)
	s.says(t, "-pm 0 -i 1", "Disabled persistence mode for GPU 00000000:43:00.0.\nAll done.", 0)
	s.says(t, "-pm 0 -i 1", "already Disabled", 0)

	file, err := os.Open(s.Device("1"))
	must(t, err)
	s.says(t, "-r -i 1", "In use by another client", 255)
	if holders, err := s.Holders("1"); err != nil || len(holders) != 0 {
		t.Errorf("holders beside us: %v, %v", holders, err)
	}
	must(t, file.Close())

	s.says(t, "-r -i 1", "GPU 00000000:43:00.0 was successfully reset.\n", 0)
	text, err := os.ReadFile(s.KmsgPath())
	must(t, err)
	if !strings.Contains(string(text), "NVRM: Xid (PCI:0000:43:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)") {
		t.Errorf("the kernel log says %q", text)
	}
	conf, err := os.ReadFile(filepath.Dir(s.KmsgPath()) + "/node.conf")
	must(t, err)
	if strings.Contains(string(conf), "remap = pending") || strings.Contains(string(conf), "ecc.volatile.dram.uncorrected = 2") {
		t.Error("the reset has healed nothing")
	}
	s.says(t, "-pm 1 -i 1", "Enabled persistence mode", 0)
}

func TestSMIResetsAsTold(t *testing.T) {
	s := newTool(t)
	s.run(t, "-pm 0")
	must(t, s.Recovery("3", 1))
	must(t, s.ResetAs("3", node.ResetHealsNothing, ""))
	s.says(t, "-r -i 3", "was successfully reset", 0)
	if action, err := s.RecoveryAction("3"); err != nil || action != 1 {
		t.Errorf("recovery action %d, %v", action, err)
	}
	must(t, s.ResetAs("3", node.ResetFails, "Unknown Error"))
	s.says(t, "-r -i 3", "GPU 00000000:61:00.0: Unknown Error", 255)
	must(t, s.Lose("4"))
	s.says(t, "-r -i 3,4", "GPU is lost", 15)

	must(t, s.ResetAs("3", node.ResetHangs, ""))
	cmd := exec.Command(s.path, "-r", "-i", "3")
	cmd.Env = append(os.Environ(), s.Env("")...)
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("the reset that hangs has ended: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	must(t, cmd.Process.Kill())
	<-ended
}
