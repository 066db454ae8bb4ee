package slurm

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		output         string
		flags          []string
		drained, empty bool
		reason         string
	}{
		{"   State=IDLE ThreadsPerCore=1\n   Partitions=all\n", []string{"IDLE"}, false, true, ""},
		{"   State=MIXED+DRAIN ThreadsPerCore=1\n   Reason=x [root@2026-11-30T13:35:32]\n", []string{"MIXED", "DRAIN"}, true, false, "x [root@2026-11-30T13:35:32]"},
		{"State=ALLOCATED*+DRAIN X=1\n", []string{"ALLOCATED", "DRAIN"}, true, false, ""},
		{"State=IDLE+COMPLETING+DRAIN X=1\n", []string{"IDLE", "COMPLETING", "DRAIN"}, true, false, ""},
		{"State=DOWN*+DRAIN+REBOOT_ISSUED\n", []string{"DOWN", "DRAIN", "REBOOT_ISSUED"}, true, true, ""},
		// A reason with line breaks comes behind the state, and is no state.
		{"State=IDLE X=1\nReason=a\nState=IDLE+DRAIN\nReason=gpuhealthd: x (1)\n", []string{"IDLE"}, false, true, "a"},
	} {
		s, err := parse(c.output)
		if err != nil || !slices.Equal(s.flags, c.flags) || s.drained() != c.drained || s.empty() != c.empty || s.reason != c.reason {
			t.Errorf("%q: %+v, %v", c.output, s, err)
		}
	}
	if s, err := parse("Node nope not found"); err == nil {
		t.Errorf("no state is read as %+v", s)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"gpu1": true, "Rack2_gpu-3.site": true, "": false, "ALL": false, "all": false,
		"gpu[1-9]": false, "gpu1,gpu2": false, "-x": false, "gpu 1": false, "gpu1\n": false} {
		if ValidName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
