package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// BenchmarkCheck is the wall time of gpuhealthd check, process and all: beside a
// daemon, without one, and without one while the driver hangs.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name   string
		daemon bool
		hang   bool
		status int
	}{{"daemon", true, false, 0}, {"alone", false, false, 0}, {"hung", false, true, 3}} {
		b.Run(c.name, func(b *testing.B) {
			d := programs.New(b)
			config := filepath.Join(b.TempDir(), "config.yaml")
			d.Must(os.WriteFile(config, fmt.Appendf(nil, "kernelLog: {path: %s, bootIDPath: %s, journalPaths: []}\nnvml: {busPath: \"\"}\nhttp: {listen: \"\"}\nstate: {path: %s/state.db}\n",
				d.Sim.KmsgPath(), d.Sim.BootIDPath(), b.TempDir()), 0o600))
			args := []string{"check", "--config", config}
			if c.daemon {
				d.StartReady()
				args = append(args, "--url", d.URL())
			}
			if c.hang {
				d.Must(d.Sim.Hang("*", "", node.Forever))
			}
			var took []time.Duration
			for b.Loop() {
				cmd := exec.Command(programs.Binary(b), args...)
				cmd.Env = append(os.Environ(), d.Env...)
				began := time.Now()
				out, _ := cmd.CombinedOutput() // its status is looked at
				took = append(took, time.Since(began))
				if got := cmd.ProcessState.ExitCode(); got != c.status {
					b.Fatalf("exit status %d: %s", got, out)
				}
			}
			quantiles(b, "check", took)
		})
	}
}
