package holders

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestChannels(t *testing.T) {
	options := real(t)
	folder := filepath.Join(options.Dev, "nvidia-caps-imex-channels")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	startHolder(t, "", options.Dev+"/nvidia0")
	startHolder(t, "", folder+"/other")
	user := startHolder(t, "", folder+"/channel0")
	found := Channels(options)
	if len(found.Processes) != 1 || found.Unknown != "" {
		t.Fatalf("%+v", found)
	}
	if p := found.Processes[0]; p.PID != user.cmd.Process.Pid || !reflect.DeepEqual(p.GPUs, []string{"channel0"}) {
		t.Errorf("%+v", p)
	}
}
