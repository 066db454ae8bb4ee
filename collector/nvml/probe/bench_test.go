package probe

import (
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// BenchmarkPoll is what a poll of eight GPUs costs, one after the other, and each
// call of it in ns. Against the simulated driver that is our share, cgo and all.
func BenchmarkPoll(b *testing.B) {
	for _, kind := range []string{"fast", "slow"} {
		b.Run(kind, func(b *testing.B) {
			n, err := node.New(b.TempDir(), "hgx-h100")
			must(b, err)
			for i := range 8 {
				must(b, n.Work(string(rune('0'+i)), 80))
			}
			name, value, _ := strings.Cut(n.Env("")[0], "=")
			b.Setenv(name, value)
			lib := driver.New(driver.WithLibraryPath(filepath.Join(simulated(b), "libnvidia-ml.so.1")))
			s, failed := openLibrary(lib, &track{})
			if failed != nil {
				b.Fatal(failed)
			}
			defer lib.Shutdown()
			var gpus []*gpu
			for i := range s.count {
				gpus = append(gpus, newGPU(i))
			}
			ask := func() {
				for _, g := range gpus {
					g.due = kind == "slow"
					if g.last = g.query(s.library).ask(); g.last.Error != nil {
						b.Fatal(g.last.Error)
					}
				}
			}
			ask()
			s.calls.take()
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
			for _, c := range s.calls.take() {
				b.ReportMetric(c.Seconds*1e9/float64(c.Count), strings.TrimPrefix(c.Name, "nvmlDevice")+"-ns")
			}
		})
	}
}
