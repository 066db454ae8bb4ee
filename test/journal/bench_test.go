package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// sources are measured side by side.
var sources = []kernlog.Source{kernlog.Kmsg, kernlog.FromJournal, kernlog.Both}

// BenchmarkFollowed is the processor time of the daemon with its journal child
// for lines that it only follows: none is the driver's.
func BenchmarkFollowed(b *testing.B) {
	for _, source := range sources {
		b.Run(string(source), func(b *testing.B) {
			m := newMachine(b, source)
			m.Config.NVML.Enabled = false
			m.StartReady()
			m.settle()
			for b.Loop() {
				const lines = 20_000
				read, used := m.Status().KernelLog.Read, cpu(b, m.PID())
				for i := range lines {
					if m.say(fmt.Sprintf("usb 1-1.%d: a line of the length that lines have, which is not the driver's", i)); i%50 == 0 {
						time.Sleep(5 * time.Millisecond) // as fast as journald can follow
					}
				}
				daemontest.Await(b, "all is read", func() bool { return m.Status().KernelLog.Read >= read+lines })
				b.ReportMetric((cpu(b, m.PID())-used).Seconds()*1e6/lines, "cpu-ms/1000lines")
				b.ReportMetric(pss(b, m.PID()), "MiB-PSS")
			}
			m.Stop()
		})
	}
}

// BenchmarkDelay is the time from a write to the kernel's log to the agent's
// event: the line "heard" in its own log.
func BenchmarkDelay(b *testing.B) {
	for _, source := range sources[:2] {
		b.Run(string(source), func(b *testing.B) {
			m := newMachine(b, source)
			m.Config.NVML.Enabled = false
			m.StartReady()
			m.settle()
			for b.Loop() {
				const lines = 80
				var said []time.Time
				for i := range lines {
					said = append(said, time.Now())
					m.say(daemontest.XID(m.gpu, fmt.Sprintf("31, pid=%d, name=delay, MMU Fault", 1000+i)))
					time.Sleep(110 * time.Millisecond) // the log tells ten lines a second
				}
				m.AwaitLog("heard", fmt.Sprintf("pid=%d,", 1000+lines-1))
				delays := delays(b, m.Log(), m.gpu, said)
				b.ReportMetric(milliseconds(delays[len(delays)/2]), "p50-ms")
				b.ReportMetric(milliseconds(delays[len(delays)*99/100]), "p99-ms")
				b.ReportMetric(float64(len(delays)), "lines")
			}
			m.Stop()
		})
	}
}

// BenchmarkIdle is the processor time of the daemon and its child when the
// kernel says nothing.
func BenchmarkIdle(b *testing.B) {
	for _, source := range sources {
		b.Run(string(source), func(b *testing.B) {
			m := newMachine(b, source)
			m.Config.NVML.Enabled = false
			m.StartReady()
			m.settle()
			for b.Loop() {
				used, began := cpu(b, m.PID()), time.Now()
				time.Sleep(10 * time.Second)
				b.ReportMetric(100*(cpu(b, m.PID())-used).Seconds()/time.Since(began).Seconds(), "%-of-a-core")
			}
			m.Stop()
		})
	}
}

// delays gives, sorted, how long after each moment its line was heard.
func delays(b *testing.B, log, gpu string, said []time.Time) (list []time.Duration) {
	b.Helper()
	for text := range strings.Lines(log) {
		var line struct {
			Time      time.Time
			Msg, Text string
		}
		if json.Unmarshal([]byte(text), &line) != nil || line.Msg != "heard" || !strings.Contains(line.Text, gpu) {
			continue
		}
		_, pid, _ := strings.Cut(line.Text, "pid=")
		n, err := strconv.Atoi(strings.Split(pid, ",")[0])
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, line.Time.Sub(said[n-1000]))
	}
	if len(list) == 0 {
		b.Fatal("no line was heard")
	}
	slices.Sort(list)
	return list
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cpu is the processor time of a process and its children.
func cpu(b *testing.B, pid int) (used time.Duration) {
	b.Helper()
	for _, p := range family(b, pid) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p))
		if err != nil || len(threads) == 0 {
			b.Fatalf("threads of %d: %v", p, err)
		}
		for _, t := range threads {
			text, err := os.ReadFile(t)
			if err != nil {
				b.Fatal(err)
			}
			nanos, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			used += time.Duration(nanos)
		}
	}
	return used
}

// pss is the memory of a process and its children, what they share counted once.
func pss(b *testing.B, pid int) (mib float64) {
	b.Helper()
	for _, p := range family(b, pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nPss:")
		kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		mib += kib / 1024
	}
	return mib
}

// family is a process and its children.
func family(b *testing.B, pid int) []int {
	b.Helper()
	pids := []int{pid}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid …", and a name may hold anything.
		after := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
		if len(after) > 1 && after[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				b.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}
