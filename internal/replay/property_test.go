package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// message is a kernel message of a case and when it came, in microseconds since
// boot.
type message struct {
	text   string
	micros int64
}

// prefixes are the transports that can carry any message with a time.
var prefixes = map[string]func(m message) string{
	"dmesg": func(m message) string { return fmt.Sprintf("[%5d.%06d] %s", m.micros/1e6, m.micros%1e6, m.text) },
	"dmesg caller": func(m message) string {
		return fmt.Sprintf("[%5d.%06d] [  T99] %s", m.micros/1e6, m.micros%1e6, m.text)
	},
	"dmesg -x": func(m message) string {
		return fmt.Sprintf("kern  :warn  : [%5d.%06d] %s", m.micros/1e6, m.micros%1e6, m.text)
	},
	"dmesg -r": func(m message) string { return fmt.Sprintf("<4>[%5d.%06d] %s", m.micros/1e6, m.micros%1e6, m.text) },
	"kmsg":     func(m message) string { return fmt.Sprintf("4,1227,%d,-;%s", m.micros, m.text) },
	"syslog with uptime": func(m message) string {
		return fmt.Sprintf("May  6 00:38:27 node-a kernel: [%5d.%06d] %s", m.micros/1e6, m.micros%1e6, m.text)
	},
	"monotonic": func(m message) string {
		return fmt.Sprintf("[%5d.%06d] node-a kernel: %s", m.micros/1e6, m.micros%1e6, m.text)
	},
	"ISO": func(m message) string {
		return fmt.Sprintf("2026-03-03T%02d:%02d:%02d.%06d+00:00 node-a kernel: %s", m.micros/3600e6%24, m.micros/60e6%60, m.micros/1e6%60, m.micros%1e6, m.text)
	},
	"RFC 5424": func(m message) string {
		return fmt.Sprintf("<4>1 2026-03-03T%02d:%02d:%02d.%06dZ node-a kernel - - - %s", m.micros/3600e6%24, m.micros/60e6%60, m.micros/1e6%60, m.micros%1e6, m.text)
	},
	"journal JSON": func(m message) string {
		text, _ := json.Marshal(m.text) // a string always can
		return fmt.Sprintf(`{"_TRANSPORT":"kernel","_SOURCE_MONOTONIC_TIMESTAMP":"%d","MESSAGE":%s}`, m.micros, text)
	},
}

// verdictsOf replays messages behind a prefix and gives all verdicts.
func verdictsOf(t testing.TB, messages []message, prefix func(message) string, opts Options) []VerdictLine {
	t.Helper()
	var log, out bytes.Buffer
	for _, m := range messages {
		fmt.Fprintln(&log, prefix(m))
	}
	if err := New(NewJSON(&out), opts).Run([]Source{{In: &log}}); err != nil {
		t.Fatal(err)
	}
	var vs []VerdictLine
	for line := range strings.Lines(out.String()) {
		var v VerdictLine
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v.Type == "verdict" {
			vs = append(vs, v)
		}
	}
	return vs
}

// caseMessages gives the kernel messages of every case, with times that rise.
func caseMessages(t testing.TB) map[string][]message {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	all := map[string][]message{}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			cut := xidparse.Cut([]byte(line))
			if cut.Kernel && xidparse.Ours(cut.Text) && !bytes.Contains(cut.Text, []byte("\n")) && !bytes.HasPrefix(cut.Text, []byte("NVRM: The NVIDIA GPU")) {
				all[file] = append(all[file], message{string(cut.Text), int64(len(all[file])+1) * 1_500_000})
			}
		}
	}
	return all
}

// The same messages at the same times are the same verdicts behind every prefix.
func TestVerdictsNeverDependOnPrefix(t *testing.T) {
	for file, messages := range caseMessages(t) {
		want := verdictsOf(t, messages, prefixes["dmesg"], Options{})
		for name, prefix := range prefixes {
			if diff := cmp.Diff(want, verdictsOf(t, messages, prefix, Options{})); diff != "" {
				t.Errorf("%s behind %s (-dmesg +%s):\n%s", file, name, name, diff)
			}
		}
	}
}

// Who is acted on, and how, does not depend on the order in which the lines of
// different GPUs came.
func TestOrderOfGPUsChangesNobodysFate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var messages []message
		for gpu := range 4 {
			messages = append(messages, ownStory(random, gpu)...)
		}
		want := fates(verdictsOf(t, at(messages), prefixes["dmesg"], Options{}))
		got := fates(verdictsOf(t, at(interleaved(random, messages)), prefixes["dmesg"], Options{}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-apart +interleaved):\n%s", round, diff)
		}
	}
}

// ownStory is a few messages of one GPU.
func ownStory(random *rand.Rand, gpu int) (story []message) {
	bodies := []string{
		"48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, subpartition 1.",
		"63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000018f00d80) marked for remapping, reset gpu to activate.",
		"94, pid=71, name=a, Contained: SM (0x1). RST: No, D-RST: No",
		"95, pid=71, name=a, Uncontained: FBHUB. RST: Yes, D-RST: No",
		"31, pid=71, name=a, Ch 00000010",
		"45, pid=71, name=a, Ch 00000010",
		"119, pid=9, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 10 (FREE) (0x0 0x0).",
		"79, GPU has fallen off the bus.",
		"62, 2042a1f0 00001d20",
		"74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 2(0x0, 0x0, 0x2000, 0x0, 0x0, 0x0, 0x0)",
		"154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
		"99999, something new",
	}
	for range 1 + random.IntN(4) {
		story = append(story, message{text: fmt.Sprintf("NVRM: Xid (PCI:0000:%02x:00): %s", 0x10+gpu, bodies[random.IntN(len(bodies))])})
	}
	return story
}

// interleaved mixes the messages of different GPUs; those of one stay in order.
func interleaved(random *rand.Rand, messages []message) (mixed []message) {
	byGPU := map[string][]message{}
	for _, m := range messages {
		byGPU[m.text[:len("NVRM: Xid (PCI:0000:10:00)")]] = append(byGPU[m.text[:len("NVRM: Xid (PCI:0000:10:00)")]], m)
	}
	gpus := []string{}
	for gpu := range byGPU {
		gpus = append(gpus, gpu)
	}
	slices.Sort(gpus)
	for len(gpus) > 0 {
		i := random.IntN(len(gpus))
		queue := byGPU[gpus[i]]
		mixed = append(mixed, queue[0])
		if byGPU[gpus[i]] = queue[1:]; len(queue) == 1 {
			gpus = slices.Delete(gpus, i, i+1)
		}
	}
	return mixed
}

// at gives the messages times, a millisecond apart.
func at(messages []message) []message {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].micros = int64(1000 * (i + 1))
	}
	return messages
}

// fates says of every fault what it ends as, by its GPUs.
func fates(vs []VerdictLine) map[string]string {
	final := map[string]VerdictLine{}
	for _, v := range vs {
		final[v.ID] = v
	}
	out := map[string]string{}
	for _, v := range final {
		out[fmt.Sprint(v.GPUs, v.Fault)] = fmt.Sprint(v.Action, v.Radius, v.DiagLevel, v.Root != nil, v.Count)
	}
	return out
}
