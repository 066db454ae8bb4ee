package fault

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func gpuAddress(i int) string { return fmt.Sprintf("0000:%02x:00", 0x1b+i*0x10) }

func line(t testing.TB, text string) xidparse.Event {
	ev, ok := xidparse.Parse(text)
	if !ok {
		t.Fatalf("not the driver's: %q", text)
	}
	return ev
}

func xid(gpu int, text string) string {
	return fmt.Sprintf("NVRM: Xid (PCI:%s): %s", gpuAddress(gpu), text)
}

// lives are what GPUs print in one incident, each its own.
var lives = [][]string{
	{"31, pid=7, name=a, MMU Fault", "43, pid=7, name=a, Ch 00000010", "45, pid=7, name=a, Ch 00000010"},
	{"48, pid=7, name=a, An uncorrectable double bit error", "63, pid=7, Row Remapper: New row marked for remapping", "94, pid=7, name=a, Contained: SM (0x1). RST: No, D-RST: No"},
	{"95, pid=7, name=a, Uncontained: FBHUB. RST: Yes, D-RST: No", "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
	{"79, pid=7, GPU has fallen off the bus.", "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"},
	{"119, pid=7, name=a, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76", "120, pid=7, GSP error"},
	{"64, pid=7, Row Remapper: Error", "48, pid=7, An uncorrectable double bit error"},
	{"4711, pid=7, a code that nobody knows"},
	{"13, pid=7, name=b, Graphics Exception"},
}

// acting gives the GPUs that something is done about, and what.
func acting(j *Judge) map[string]Action {
	found := map[string]Action{}
	for _, v := range j.Open() {
		for _, d := range v.GPUs {
			if v.Acts() {
				found[d.PCI.String()] = max(found[d.PCI.String()], v.Action)
			}
		}
	}
	return found
}

// However the lines of different GPUs mix, each GPU fares the same.
func TestOrderAcrossGPUsDoesNotMatter(t *testing.T) {
	var want map[string]Action
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		j := New(Config{})
		left := make([][]string, len(lives))
		copy(left, lives)
		for sequence := uint64(0); ; sequence++ {
			var open []int
			for g, texts := range left {
				if len(texts) > 0 {
					open = append(open, g)
				}
			}
			if len(open) == 0 {
				break
			}
			g := open[rng.IntN(len(open))]
			j.Step(start.Add(time.Duration(sequence)*time.Millisecond), Observation{Sequence: sequence, Fact: Heard{Event: line(t, xid(g, left[g][0]))}})
			left[g] = left[g][1:]
		}
		got := acting(j)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
	if len(want) != 5 {
		t.Errorf("something is done about %v, want five GPUs", want)
	}
}

// That a line comes again changes its count and no verdict.
func TestRepeatsChangeNoVerdict(t *testing.T) {
	for g, texts := range lives {
		for _, text := range texts {
			j := New(Config{})
			o := Observation{Sequence: 1, Fact: Heard{Event: line(t, xid(g, text))}}
			j.Step(start, o)
			before := j.Open()
			for n := range 1000 {
				o.Sequence++
				if vs := j.Step(start.Add(time.Duration(n)*time.Millisecond), o); len(vs) > 0 {
					t.Fatalf("%s: line %d changes %+v", text, n, vs[0])
				}
			}
			after := j.Open()
			for i := range after {
				// That the driver asks for the same again is not counted.
				counted := after[i].Count == before[i].Count+1000 || after[i].Class == RecoveryAction
				if !counted || !after[i].same(before[i]) {
					t.Errorf("%s: %+v became %+v", text, before[i], after[i])
				}
			}
		}
	}
}

// unanswered is a poll that a GPU, or the driver, did not answer.
var unanswered = regexp.MustCompile(`hung |=(lost|gone|failed)`)

// series is what only several polls together show: a rate, a lasting state, a
// count that is short. It begins anew with the agent.
var series = regexp.MustCompile(`corrected:|ecc-error|=hot|=width|=temp|margin|replays|unknown:|retired:|aside:|bus |expect |serves |(?s:nvlink .*polls )`)

// A restart between any two lines of a scenario changes no verdict. Polls in a
// row that went unanswered are not kept but counted anew, so that no restart is
// played beside one; nor is a scenario of a series.
func TestRestartAnywhere(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	played := 0
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if series.Match(in) {
			continue
		}
		want := play(t, in)
		lines := strings.Split(strings.TrimRight(string(in), "\n"), "\n")
		for n := range lines {
			at, _, _ := strings.Cut(lines[n], " ")
			if !strings.HasPrefix(at, "+") || unanswered.MatchString(strings.Join(lines[max(0, n-1):n+1], " ")) {
				continue
			}
			again := slices.Concat(lines[:n], []string{at + " restart"}, lines[n:])
			if diff := cmp.Diff(want, play(t, []byte(strings.Join(again, "\n")))); diff != "" {
				t.Errorf("%s: restarted before line %d: %s", file, n+1, diff)
			}
			played++
		}
	}
	if played < 150 {
		t.Errorf("only %d restarts played", played)
	}
}

// A hundred thousand lines of every code, known or not, on eight GPUs and from
// as many addresses as a garbled text can name: what is kept is bounded.
func TestStateIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	j := New(Config{})
	for n := range 100_000 {
		pci := gpuAddress(rng.IntN(8))
		if rng.IntN(50) == 0 {
			pci = fmt.Sprintf("%04x:%02x:%02x", rng.IntN(1<<16), rng.IntN(1<<8), rng.IntN(32))
		}
		ev := line(t, fmt.Sprintf("NVRM: Xid (PCI:%s): %d, pid=%d, name=a, something", pci, rng.IntN(12)*rng.IntN(60), rng.IntN(9)))
		if rng.IntN(20) == 0 {
			ev = line(t, fmt.Sprintf("nvidia-nvswitch0: SXid (PCI:%s): %d, Fatal, Link %d something", pci, 10000+rng.IntN(1000000), rng.IntN(99)))
		}
		if rng.IntN(10) == 0 {
			ev.Code, ev.Message = rng.IntN(1<<20), strings.Repeat("x", rng.IntN(200))
		}
		j.Step(start.Add(time.Duration(n)*time.Millisecond), Observation{Sequence: uint64(n), Fact: Heard{Event: ev}})
	}
	addresses, unknown := map[xidparse.PCI]bool{}, map[xidparse.PCI]int{}
	for k, e := range j.open {
		addresses[k.pci] = true
		if !k.class.Known() {
			unknown[k.pci]++
		}
		if len(e.Evidence) > evidenceLines || len(e.Links) > maxLinks {
			t.Errorf("%v keeps %d lines and %d links", k, len(e.Evidence), len(e.Links))
		}
	}
	for pci, n := range unknown {
		if n > maxUnknown+2 {
			t.Errorf("%s has %d classes that nobody knows", pci, n)
		}
	}
	saved, err := j.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if len(addresses) > maxDevices || len(j.devices) > maxDevices || len(saved) > 8<<20 {
		t.Errorf("%d addresses, %d devices, a snapshot of %d bytes", len(addresses), len(j.devices), len(saved))
	}
}

// What programs do to themselves never takes a node out of service.
func TestApplicationsNeverAct(t *testing.T) {
	texts := []string{"13, pid=%d, name=a%d, Graphics Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address",
		"31, pid=%d, name=a%d, MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_0 faulted", "43, pid=%d, name=a%d, Ch 00000010",
		"45, pid=%d, name=a%d, Ch 00000010"}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		j, now := New(Config{}), start
		for n := range uint64(400) {
			now = now.Add(time.Duration(rng.IntN(120)) * time.Second)
			text := fmt.Sprintf(texts[rng.IntN(len(texts))], rng.IntN(5000), rng.IntN(9))
			for _, v := range j.Step(now, Observation{Sequence: n, Fact: Heard{Event: line(t, xid(rng.IntN(8), text))}}) {
				if v.Acts() {
					t.Fatalf("seed %d, line %d: %+v", seed, n, v)
				}
			}
		}
	}
}
