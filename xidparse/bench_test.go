package xidparse

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"
)

const (
	line79      = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=trainer, GPU has fallen off the bus."
	line149     = "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
	lineForeign = "usb 1-1: new high-speed USB device number 2 using xhci_hcd"
)

func BenchmarkParse(b *testing.B) {
	b.Run("xid79", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := Parse(line79); !ok {
				b.Fatal("no event")
			}
		}
	})
	b.Run("xid149", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e, _ := Parse(line149)
			if _, ok := e.NVLink5(); !ok {
				b.Fatal("no event")
			}
		}
	})
	b.Run("foreign", func(b *testing.B) {
		text := []byte(lineForeign)
		var stuck Stuck
		b.ReportAllocs()
		for b.Loop() {
			if Ours(text) {
				b.Fatal("ours")
			}
			if _, _, ok := stuck.Line(0, text); ok {
				b.Fatal("stuck")
			}
		}
	})
}

// logs are dmesg's, of 1000 lines each.
func logs() map[string][][]byte {
	boot := []string{
		lineForeign,
		"pci 0000:3b:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint",
		"systemd[1]: Mounting sys-kernel-debug.mount - Kernel Debug File System...",
		"EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
		"audit: type=1400 audit(1725018194.123:2): apparmor=\"STATUS\" operation=\"profile_load\"",
	}
	all := map[string][][]byte{}
	add := func(name, text string) {
		n := len(all[name])
		all[name] = append(all[name], fmt.Appendf(nil, "[%12.6f] %s", float64(n)/100, text))
	}
	for i := range 1000 {
		add("boot", boot[i%len(boot)])
		add("flood", "NVRM: Xid (PCI:0000:3b:00): 95, pid=7062, name=python3, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No")
		if i%50 == 0 {
			add("mixed", line149)
		} else {
			add("mixed", boot[i%len(boot)])
		}
	}
	return all
}

// BenchmarkLog reads whole logs, from the prefix to the event, and tells how
// many times as long a parser of one regular expression takes.
func BenchmarkLog(b *testing.B) {
	for name, lines := range logs() {
		b.Run(name, func(b *testing.B) {
			bytes := 0
			for _, line := range lines {
				bytes += len(line) + 1
			}
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				countEvents(lines)
			}
			ours := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(len(lines))/ours, "lines/s")
			b.ReportMetric(naiveSeconds(lines)/ours, "naive/ours")
		})
	}
}

func countEvents(lines [][]byte) (n int) {
	for _, line := range lines {
		cut := Cut(line)
		if !cut.Kernel || !Ours(cut.Text) {
			continue
		}
		if _, ok := Parse(string(cut.Text)); ok {
			n++
		}
	}
	return n
}

// naive is what a script would search a log with.
var naive = regexp.MustCompile(`NVRM: Xid \((?:PCI:)?([0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (\d+)(?:, pid=([^,]*), name=([^,]*))?,? ?(.*)`)

func countNaive(lines [][]byte) (n int) {
	for _, line := range lines {
		if m := naive.FindStringSubmatch(string(line)); m != nil {
			if code, err := strconv.Atoi(m[2]); err == nil && code > 0 {
				n++
			}
		}
	}
	return n
}

func naiveSeconds(lines [][]byte) float64 {
	const rounds = 20
	start := time.Now()
	for range rounds {
		countNaive(lines)
	}
	return time.Since(start).Seconds() / rounds
}

// The comparison is fair: both find the same events.
func TestNaiveFindsTheSame(t *testing.T) {
	for name, lines := range logs() {
		if ours, theirs := countEvents(lines), countNaive(lines); ours != theirs {
			t.Errorf("%s: %d events, naive %d", name, ours, theirs)
		}
	}
}

func TestForeignLinesCostNoAllocation(t *testing.T) {
	for _, prefix := range []string{"", "6,1,2,-;", "<6>[    1.5] ", "[    1.5] ", "[Sun Feb 23 16:24:18 2025] ", "kern  :info  : [    1.5] ",
		"2025-01-21T04:41:44,283302+00:00 ", "Aug 10 15:36:05 n kernel: ", "Aug 10 15:36:05 n agent[9]: ", "n: kern: info: [2026-04-22T21:27:51.2Z]: "} {
		line := []byte(prefix + lineForeign)
		if n := testing.AllocsPerRun(100, func() { Ours(Cut(line).Text) }); n != 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}
