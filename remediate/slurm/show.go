package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// shown is what scontrol shows of a node.
type shown struct {
	// flags are the parts of its state, IDLE+DRAIN for one.
	flags []string
	// reason is as scontrol shows it, with who gave it and when.
	reason string
}

// parse reads scontrol show node. The first line of each kind counts: a reason
// may hold line breaks, and comes last.
func parse(output string) (shown, error) {
	var s shown
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if state, ok := strings.CutPrefix(line, "State="); ok && s.flags == nil {
			state, _, _ = strings.Cut(state, " ")
			for _, flag := range strings.Split(state, "+") {
				s.flags = append(s.flags, strings.TrimRight(flag, "*~#!%$@^-"))
			}
		}
		if reason, ok := strings.CutPrefix(line, "Reason="); ok && s.reason == "" {
			s.reason = reason
		}
	}
	if s.flags == nil {
		return s, fmt.Errorf("scontrol shows no state: %q", output)
	}
	return s, nil
}

func (s shown) is(flag string) bool { return slices.Contains(s.flags, flag) }

// drained says whether the node takes no more jobs, because somebody said so.
func (s shown) drained() bool { return s.is("DRAIN") }

// empty says whether no job is left on the node.
func (s shown) empty() bool {
	return !s.is("ALLOCATED") && !s.is("MIXED") && !s.is("COMPLETING")
}

func (s shown) state() string { return strings.Join(s.flags, "+") }
