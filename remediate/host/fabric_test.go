package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFabricManager(t *testing.T) {
	proc := t.TempDir()
	if _, err := FabricManager(proc); err == nil {
		t.Error("a /proc without a process is believed")
	}
	process := func(pid, name string) {
		must(t, os.Mkdir(filepath.Join(proc, pid), 0o755))
		must(t, os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(name+"\n"), 0o644))
	}
	process("1", "systemd")
	if runs, err := FabricManager(proc); err != nil || runs {
		t.Errorf("runs: %v, %v", runs, err)
	}
	if Sees(proc) == nil {
		t.Error("a pod's own processes are taken for the host's")
	}
	process("2", "kthreadd")
	if err := Sees(proc); err != nil {
		t.Error(err)
	}
	process("811", "nvidia-imex-ctl")
	if runs, err := IMEX(proc); err != nil || runs {
		t.Errorf("the tool is taken for the daemon of IMEX: %v, %v", runs, err)
	}
	process("813", "nvidia-imex")
	if runs, err := IMEX(proc); err != nil || !runs {
		t.Errorf("IMEX runs: %v, %v", runs, err)
	}
	process("812", "nv-fabricmanage")
	if runs, err := FabricManager(proc); err != nil || !runs {
		t.Errorf("runs: %v, %v", runs, err)
	}
}
