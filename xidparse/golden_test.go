package xidparse

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"
)

// sample is one input of a golden file, the prose above it, and the lines
// expected below it.
type sample struct {
	prose []string
	input string
	want  []string
}

// goldenFile checks every input of a file in testdata: an input stands at the
// margin, with the kernel's \x0a escapes, and what it must become is indented
// below it. Lines that begin with # are prose.
func goldenFile(t *testing.T, path string, describe func(input string) []string) {
	t.Helper()
	var out bytes.Buffer
	for _, s := range readGolden(t, path) {
		got := describe(string(UnescapeKmsg(nil, []byte(s.input))))
		if !golden.Update() && strings.Join(got, "\n") != strings.Join(s.want, "\n") {
			t.Errorf("%s\n got %s\nwant %s", s.input, strings.Join(got, "\n     "), strings.Join(s.want, "\n     "))
		}
		for _, line := range s.prose {
			fmt.Fprintln(&out, line)
		}
		fmt.Fprintln(&out, s.input)
		for _, line := range got {
			fmt.Fprintln(&out, indent+line)
		}
	}
	if golden.Update() {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const indent = "    "

// readGolden reads the samples; the prose behind the last belongs to none.
func readGolden(t testing.TB, path string) []sample {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	var prose []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			prose = append(prose, line)
		case strings.HasPrefix(line, indent) && len(samples) > 0:
			last := &samples[len(samples)-1]
			last.want = append(last.want, line[len(indent):])
		default:
			samples = append(samples, sample{prose: prose, input: line})
			prose = nil
		}
	}
	return samples
}

// describe writes an event with everything that can be read from it, leaving
// out what is absent.
func describe(e Event) string {
	var b strings.Builder
	add := func(present bool, format string, args ...any) {
		if present {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	b.WriteString(e.Kind.String())
	add(e.Code != 0, "%d", e.Code)
	add(e.HasPCI, "%v", e.PCI)
	add(e.GPUInstance != Absent, "gi=%d", e.GPUInstance)
	add(e.ComputeInstance != Absent, "ci=%d", e.ComputeInstance)
	add(e.PID != 0, "pid=%d", e.PID)
	add(e.Process != "", "process=%q", e.Process)
	add(e.Link != Absent, "link=%d", e.Link)
	add(e.CausedBy != 0, "caused-by=%d", e.CausedBy)
	add(e.UUID != "", "uuid=%s", e.UUID)
	describeDetail(e, add)
	add(true, "| %q", e.Message)
	return b.String()
}

func describeDetail(e Event, add func(bool, string, ...any)) {
	regs, n := e.Registers()
	add(n > 0, "registers=%x/%d", regs, n)
	from, to, ok := e.Recovery()
	add(ok, "recovery=%d→%d", from, to)
	reset, drain := e.ResetHint()
	answers := [...]string{"?", "yes", "no"}
	add(reset != Unknown || drain != Unknown, "reset=%s drain-reset=%s", answers[reset], answers[drain])
	memory := e.Memory()
	add(memory != MemoryUnknown, "memory=%s", [...]string{"", "dram", "sram"}[memory])
	add(e.Place() != "", "place=%q", e.Place())
	add(e.SwitchSeverity() != SeverityUnknown, "severity=%v", e.SwitchSeverity())
	link, ok := e.NVLink5()
	add(ok, "unit=%s severity=%v xc=%d injected=%t words=%x/%d", link.Unit, link.Severity, link.XC, link.Injected, link.Words, link.N)
}
