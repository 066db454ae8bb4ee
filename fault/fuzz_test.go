package fault

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// FuzzJudge plays random observations, two bytes each, and holds what must hold
// in every history.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9})
	f.Add([]byte("a node that dies, boots and dies again, for hours on end"))
	f.Fuzz(func(t *testing.T, history []byte) {
		p := &player{t: t, judge: New(testConfig), now: start, told: map[string]Verdict{}}
		p.step(Observation{Fact: Boot{ID: "5f3c21aa-0000"}})
		for len(history) >= 2 {
			p.play(binary.LittleEndian.Uint16(history))
			history = history[2:]
		}
	})
}

// player plays and checks.
type player struct {
	t     *testing.T
	judge *Judge
	now   time.Time
	seq   uint64
	boots int
	told  map[string]Verdict
}

// spoken are the texts that a GPU prints, or a switch where there is no address.
var spoken = []string{
	"13, pid=%d, name=a, Graphics Exception", "31, pid=%d, name=a, MMU Fault", "45, pid=%d, name=a, Ch 00000010",
	"48, pid=%d, An uncorrectable double bit error", "63, pid=%d, Row Remapper: New row marked for remapping",
	"64, pid=%d, Row Remapper: Error", "74, pid=%d, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
	"79, pid=%d, GPU has fallen off the bus.", "94, pid=%d, Contained: SM (0x1). RST: No, D-RST: No",
	"95, pid=%d, Uncontained: FBHUB. RST: Yes, D-RST: No", "119, pid=%d, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
	"149, NETIR_LINK_EVT Fatal XC0 i0 Link 05 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000) %d",
	"145, RLW_REMAP Nonfatal XC0 i0 Link 05 (0x00000004 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000) %d",
	"154, GPU recovery action changed from 0x0 (None) to 0x%d", "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None) %d",
	"4711, pid=%d, a code that nobody knows",
}

// play makes one observation of two bytes: what, and on whom.
func (p *player) play(code uint16) {
	what, gpu, rest := int(code&0x1f), int(code>>5&0x7), int(code>>8)
	p.now = p.now.Add(time.Duration(rest) * time.Second)
	pci, _ := xidparse.ParsePCI(gpuAddress(gpu))
	device := Device{PCI: pci, UUID: fmt.Sprintf("GPU-%d", gpu)}
	switch {
	case what < len(spoken):
		p.hear(fmt.Sprintf("NVRM: Xid (PCI:%s): "+spoken[what], gpuAddress(gpu), rest%8), rest%5 == 0)
	case what == 16:
		p.hear(fmt.Sprintf("nvidia-nvswitch%d: SXid (PCI:0000:%02x:00.0): 20034, Fatal, Link 32 LTSSM Fault Up", gpu, gpu+1), false)
	case what < 22:
		p.step(Observation{Fact: p.inventory(gpu, rest)})
	case what == 22:
		p.step(Observation{Fact: Hung{Device: device, Call: "a call"}})
	case what == 23:
		p.step(Observation{Fact: Hung{Call: "a call"}})
	case what == 24:
		p.step(Observation{Fact: Blind{Why: "no library", Mismatch: rest%2 == 0}})
	case what == 25:
		p.seq, p.boots = 0, p.boots+1
		p.step(Observation{Fact: Boot{ID: fmt.Sprintf("%08x-0000", p.boots)}})
	case what == 26:
		p.now = p.now.Add(time.Duration(rest) * time.Hour)
		p.check(p.judge.Tick(p.now))
	case what == 27:
		p.restart()
	case what == 28 || what == 29:
		p.step(Observation{Fact: p.served(gpu, rest)})
	default:
		p.check(p.judge.Tick(p.now))
	}
}

func (p *player) hear(text string, backlog bool) {
	p.seq++
	p.step(Observation{Sequence: p.seq, Backlog: backlog, Fact: Heard{Event: line(p.t, text)}})
}

// inventory is a poll in which one GPU may be in trouble.
func (p *player) inventory(sick, how int) Inventory {
	var inv Inventory
	for i := range 8 {
		pci, _ := xidparse.ParsePCI(gpuAddress(i))
		g := healthyGPU(pci, i)
		setActivity(&g, p.now, []string{"idle", "working", "wedged", "mig"}[how%4])
		if i == sick {
			how := []string{"ok", "lost", "failed", fmt.Sprintf("recovery:%d", how), "pending", "remap-failed", "gone",
				fmt.Sprintf("corrected:%d", 1000*how), "uncorrected:3", "sram", "ecc-error", "hot", "width:8",
				"unknown:temp", fmt.Sprintf("retired:%d", how), fmt.Sprintf("temp:%d", how), fmt.Sprintf("replays:%d", how*how)}[how%17]
			if how == "gone" {
				continue
			}
			set(&g, how)
		}
		inv.GPUs = append(inv.GPUs, g)
	}
	return inv
}

// served is a look at a replica on each GPU, of which one may be in trouble, or gone.
func (p *player) served(sick, how int) Served {
	var s Served
	for i := range 8 {
		one, n := 1.0, float64(p.now.Unix())
		r := serving.Replica{Name: fmt.Sprintf("pod-%d", i), Life: "1", GPUs: []string{fmt.Sprintf("GPU-%d", i)}}
		sc := serving.Scrape{Replica: r, Endpoint: r.Name, At: p.now, Engines: []serving.Reading{{Running: &one, Progress: &n, Tokens: &n}}}
		if i != sick {
			s.Scrapes = append(s.Scrapes, sc)
			continue
		}
		switch how % 6 {
		case 0:
			sc.Engines[0].Progress, sc.Engines[0].Tokens = &one, &one
		case 1:
			sc.Answer, sc.Engines = serving.Silent, nil
		case 2:
			sc.Answer, sc.Engines = serving.Refused, nil
		case 3:
			sc.Replica.Life = fmt.Sprint(how)
		case 4:
			continue
		}
		s.Scrapes = append(s.Scrapes, sc)
	}
	s.Jobs = []serving.Job{{Name: "job", GPUs: []string{"GPU-0", fmt.Sprintf("GPU-%d", sick)}}}
	return s
}

func (p *player) step(o Observation) { p.check(p.judge.Step(p.now, o)) }

func (p *player) restart() {
	saved, err := p.judge.Snapshot()
	if err != nil {
		p.t.Fatal(err)
	}
	before := p.judge.Open()
	if p.judge, err = Restore(testConfig, saved); err != nil {
		p.t.Fatal(err)
	}
	if after := p.judge.Open(); len(after) != len(before) {
		p.t.Fatalf("%d open before the restart, %d after it", len(before), len(after))
	}
}

// check holds what every verdict, and what all that are open, must be.
func (p *player) check(vs []Verdict) {
	for _, v := range vs {
		switch had, known := p.told[v.ID+string(v.Class)], v.ID != ""; {
		case !known:
			p.t.Fatalf("a verdict without an ID: %+v", v)
		case v.Root != "" && v.Action > Record:
			p.t.Fatalf("a symptom acts: %+v", v)
		case v.Closed && v.Action != None:
			p.t.Fatalf("closed, and acts: %+v", v)
		case v.Action == Hold && v.Acts():
			p.t.Fatalf("a hold cordons: %+v", v)
		case v.same(had):
			p.t.Fatalf("told again: %+v", v)
		case v.Acts() && len(v.GPUs) == 0 && len(p.judge.Devices()) > 0:
			p.t.Fatalf("acts on nobody: %+v", v)
		}
		p.told[v.ID+string(v.Class)] = v
	}
	ids := map[string]bool{}
	for _, v := range p.judge.Open() {
		if v.ID == "" || ids[v.ID] {
			p.t.Fatalf("two open episodes are %q", v.ID)
		}
		ids[v.ID] = true
	}
}
