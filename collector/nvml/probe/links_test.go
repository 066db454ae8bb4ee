package probe

import (
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// linked reads to the first inventory that tells of NVLinks.
func (c *child) linked() nvml.Inventory {
	c.t.Helper()
	return c.inventory(func(i nvml.Inventory) bool { return i.GPUs[0].NVLink != nil })
}

func TestLinks(t *testing.T) {
	lib := simulated(t)
	n, err := node.New(t.TempDir(), "gb200-tray")
	must(t, err)
	must(t, n.LinkUp("0", 5, false))
	must(t, n.SetLink("0", 6, "state", "2"))
	must(t, n.LinkRecoveries("0", 7, 505, true))
	must(t, n.LinkRecoveries("0", 7, 1, false))
	must(t, n.LinkBER("0", 7, 2e-12))
	must(t, n.SetLink("0", 8, "received", node.Blank))
	must(t, n.SetLink("0", 9, "state", node.Unknown))
	g := start(t, n, lib).linked().GPUs[0]
	for path, want := range map[string]string{
		"nvlink.generation": "5", "nvlink.fabric.v": "3", "nvlink.fabric.state": `"completed"`, "nvlink.fabric.mask": "426",
		"nvlink.fabric.cluster": `"7b1c0f2e-5d8a-4c3c-9b6e-2f4a1d0c8e57"`, "nvlink.platform.chassis": `"1821325191570"`,
		"nvlink.platform.tray": "6", "failed": `{"nvlink":-1}`,
	} {
		if got := at(t, g, path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	links := g.NVLink.Links
	if len(links) != 18 || g.NVLink.Up() != 16 {
		t.Fatalf("%d links, %d up; want 18 and 16", len(links), g.NVLink.Up())
	}
	if links[5].State != nvlink.Inactive || links[6].State != nvlink.Sleep || links[9].State != nvlink.StateUnknown {
		t.Errorf("states %v, %v, %v", links[5].State, links[6].State, links[9].State)
	}
	l := links[7]
	if *l.Recoveries != 506 || *l.Recovered != 505 || *l.RecoveryFailed != 1 || *l.EffectiveBER != 2e-12 || len(l.FEC) != 16 || *l.Speed != 53125 {
		t.Errorf("link 7: %+v", l)
	}
	if l.Remote != nvlink.RemoteSwitch || l.Peer != nil || l.Replays != nil || links[8].Packets.Received != nil {
		t.Errorf("link 7: %+v, link 8 %+v", l, links[8].Packets)
	}
}

// TestOlderLinks: NVLink 4 has the older counters and switches with addresses.
func TestOlderLinks(t *testing.T) {
	lib := simulated(t)
	n := newNode(t)
	must(t, n.LinkRecoveries("0", 17, 3, true))
	for name, folder := range map[string]string{"today's library": lib, "one without the fields": filepath.Join(lib, "old")} {
		g := start(t, n, folder).linked().GPUs[0]
		l := g.NVLink.Links[17]
		if g.NVLink.Generation != 4 || l.State != nvlink.Active || l.Recoveries == nil || *l.Recoveries != 3 || l.EffectiveBER != nil ||
			l.Peer == nil || l.Peer.String() != "0000:08:00" {
			t.Errorf("%s: generation %d, %+v", name, g.NVLink.Generation, l)
		}
	}
}

func TestNoLinks(t *testing.T) {
	n, err := node.New(t.TempDir(), "pcie-l40s")
	must(t, err)
	g := start(t, n, simulated(t)).linked().GPUs[0]
	if g.NVLink.Links == nil || len(g.NVLink.Links) != 0 || g.NVLink.Fabric != nil || g.NVLink.Platform != nil || g.Failed != nil {
		t.Errorf("%+v, failed %v", g.NVLink, g.Failed)
	}
}

// TestFabricVersions: what an older library or driver does not have is asked for
// in the form before.
func TestFabricVersions(t *testing.T) {
	lib := simulated(t)
	n, err := node.New(t.TempDir(), "gb200-tray")
	must(t, err)
	without := lib
	for _, symbol := range []string{"nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetPlatformInfo"} {
		without, err = n.DropSymbol(lib, symbol)
		must(t, err)
	}
	for _, tt := range []struct {
		newest, folder string
		version        int
		mask, summary  bool
	}{{"3", lib, 3, true, true}, {"2", lib, 2, true, false}, {"1", lib, 1, false, false}, {"3", without, 1, false, false}} {
		for gpu := range 4 {
			must(t, n.Set(string(rune('0'+gpu)), "fabric.version", tt.newest))
		}
		f := start(t, n, tt.folder).linked().GPUs[1].NVLink.Fabric
		if f == nil || f.Version != tt.version || (f.Mask != nil) != tt.mask || (f.Summary != nil) != tt.summary || f.Clique != 1 {
			t.Errorf("library with version %s in %s: %+v, want version %d", tt.newest, tt.folder, f, tt.version)
		}
	}
	must(t, n.FailCall("nvmlDeviceGetGpuFabricInfoV", "1", 999))
	g := start(t, n, lib).linked().GPUs[1]
	if g.NVLink.Fabric != nil || g.Failed[nvml.ValueFabric] != 999 {
		t.Errorf("fabric %+v, failed %v", g.NVLink.Fabric, g.Failed)
	}
}

// TestLinksOfOnePoll: links are told in the poll that asks for them, and not
// again.
func TestLinksOfOnePoll(t *testing.T) {
	lib := opened(t, "hgx-h100")
	g := newGPU(0)
	for _, slow := range []bool{true, false, false, true} {
		g.due = slow
		if g.last = g.query(lib).ask(); (g.last.NVLink != nil) != slow {
			t.Errorf("a slow poll: %t, and it tells of links: %t", slow, g.last.NVLink != nil)
		}
	}
}

// opened is the simulated library, opened in this process.
func opened(t testing.TB, profile string) library {
	n, err := node.New(t.TempDir(), profile)
	must(t, err)
	name, value, _ := strings.Cut(n.Env("")[0], "=")
	t.Setenv(name, value)
	lib := driver.New(inFolders([]string{t.TempDir(), simulated(t)})...)
	s, failed := openLibrary(lib, &track{})
	if failed != nil {
		t.Fatal(failed)
	}
	t.Cleanup(func() { lib.Shutdown() })
	return s.library
}

// BenchmarkLinks is what the links of eight GPUs with eighteen each cost in one
// slow poll, and how many bytes they are on the wire.
func BenchmarkLinks(b *testing.B) {
	for _, profile := range []string{"hgx-h100", "hgx-b200"} {
		b.Run(profile, func(b *testing.B) {
			lib := opened(b, profile)
			gpus := make([]*gpu, 8)
			for i := range gpus {
				gpus[i] = newGPU(i)
			}
			inv := nvml.Inventory{GPUs: make([]nvml.GPU, len(gpus))}
			ask := func() {
				for i, g := range gpus {
					q := g.query(lib)
					if !q.find() {
						b.Fatal(q.found.Error)
					}
					q.links()
					inv.GPUs[i], g.busy = q.found, false
				}
			}
			ask()
			lib.calls.take()
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
			calls := 0
			for _, c := range lib.calls.take() {
				calls += c.Count
			}
			var line counter
			must(b, nvml.InventoryReport(inv).Write(&line))
			b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
			b.ReportMetric(float64(line), "wire-bytes")
		})
	}
}

// counter counts bytes.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
