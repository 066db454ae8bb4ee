package xidparse

import (
	"fmt"
	"strings"
	"testing"
)

const (
	lockup   = "watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [nvidia-smi:2024380]"
	hung     = "INFO: task python3:4711 blocked for more than 122 seconds."
	inDriver = " _nv012454rm+0x437/0x4b0 [nvidia]"
	elsebody = " __schedule+0x27c/0x6b0"
)

func TestStuck(t *testing.T) {
	for _, c := range []struct {
		name string
		log  []string
		want string // of all events: place, process, pid and message
	}{
		{"soft lockup", []string{lockup, "Modules linked in: nvidia(PO)", "RIP: 0010:_nv012454rm+0x437/0x4b0 [nvidia]", inDriver},
			"0 nvidia-smi 2024380 soft lockup - CPU#17 stuck for 22s, in _nv012454rm+0x437/0x4b0 [nvidia]"},
		{"of an older kernel", []string{"NMI " + lockup, inDriver},
			"0 nvidia-smi 2024380 soft lockup - CPU#17 stuck for 22s, in _nv012454rm+0x437/0x4b0 [nvidia]"},
		{"of arm64", []string{lockup, "pc : uvm_va_block_lock+0x10/0x20 [nvidia_uvm]"},
			"0 nvidia-smi 2024380 soft lockup - CPU#17 stuck for 22s, in uvm_va_block_lock+0x10/0x20 [nvidia_uvm]"},
		{"with build ids", []string{lockup, " os_delay+0x1/0x2 [nvidia 0123456789abcdef] (P)"},
			"0 nvidia-smi 2024380 soft lockup - CPU#17 stuck for 22s, in os_delay+0x1/0x2 [nvidia]"},
		{"hung task", []string{"usb 1-1: a line", hung, elsebody, " os_acquire_rwlock_write+0x35/0x50 [nvidia]", " </TASK>"},
			"1 python3 4711 task blocked for more than 122 seconds, in os_acquire_rwlock_write+0x35/0x50 [nvidia]"},
		{"waiting for a disk", []string{"INFO: task a b: c:7 blocked in I/O wait for more than 122 seconds.", inDriver},
			"0 a b: c 7 task blocked in I/O wait for more than 122 seconds, in _nv012454rm+0x437/0x4b0 [nvidia]"},
		{"the second of two", []string{hung, elsebody, lockup, inDriver},
			"2 nvidia-smi 2024380 soft lockup - CPU#17 stuck for 22s, in _nv012454rm+0x437/0x4b0 [nvidia]"},

		{"elsewhere", []string{lockup, "Modules linked in: nvidia_uvm(PO) nvidia(PO)", elsebody, " kvm_exit+0x1/0x2 [kvm]", " </TASK>"}, ""},
		{"no report", []string{inDriver, "RIP: 0010:_nv012454rm+0x437/0x4b0 [nvidia]"}, ""},
		{"a trace behind its end", []string{hung, elsebody, " </TASK>", inDriver}, ""},
		{"a warning behind it", []string{hung, "------------[ cut here ]------------", inDriver}, ""},
		{"another processor's trace", []string{lockup, "Sending NMI from CPU 17 to CPUs 0-16:", inDriver}, ""},
		{"left on the stack", []string{lockup, " ? _nv012454rm+0x437/0x4b0 [nvidia]"}, ""},
		{"a module of another", []string{lockup, " f+0x1/0x2 [nvidiafs]", " f+0x1/0x2 [i2c_nvidia_gpu]"}, ""},
		{"a name that is a frame", []string{lockup, "CPU: 17 PID: 1 Comm: a+0x1/0x1 [nvidia] Tainted: P"}, ""},
		{"too far", append(append([]string{lockup}, make([]string, traceLines)...), inDriver), ""},
		{"no process", []string{"watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [nvidia-smi]", inDriver}, ""},
		{"cut short", []string{"watchdog: BUG: soft lockup - CPU#17 stuck for", inDriver, "INFO: task x:1 blocked for", inDriver}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Stuck
			var got []string
			for i, line := range c.log {
				if ev, began, ok := s.Line(uint64(i), []byte(line)); ok {
					got = append(got, fmt.Sprintf("%d %s %d %s", began, ev.Process, ev.PID, ev.Message))
					if ev.Kind != KindDriverStuck || ev.HasPCI {
						t.Errorf("event %+v", ev)
					}
				}
			}
			if all := strings.Join(got, "\n"); all != c.want {
				t.Errorf("got %q\nwant %q", all, c.want)
			}
		})
	}
}

// What is not the kernel's report of something stuck costs next to nothing.
func TestStuckAllocatesNothing(t *testing.T) {
	var s Stuck
	for _, line := range []string{lineForeign, "Booting paravirtualized kernel", "INFO: lockdep is turned off.", ""} {
		text := []byte(line)
		if n := testing.AllocsPerRun(100, func() { s.Line(0, text) }); n > 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}

func FuzzStuck(f *testing.F) {
	for _, log := range []string{lockup + "\n" + inDriver, hung + "\n" + elsebody + "\n" + inDriver, hung + "\n" + lockup} {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var s Stuck
		for i, line := range strings.Split(string(log), "\n") {
			ev, began, ok := s.Line(uint64(i), []byte(line))
			if !ok {
				continue
			}
			if began >= uint64(i) || ev.Kind != KindDriverStuck || ev.HasPCI || ev.PID < 0 || !strings.Contains(ev.Message, " [nvidia") {
				t.Errorf("line %d completes %+v of line %d", i, ev, began)
			}
		}
	})
}
