package remediate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The words of fences, in TestScenarios; after those that set the mode:
//
//	+0s fence              devices may be fenced by themselves
//	+0s plugin N           a device plugin offers so many GPUs
//	+5s stand UUID…        the rules of these stand
//	+5s gone UUID…         somebody has taken them away, or they went as they should
//	+5s changed UUID HOW   somebody has changed its rule
//	+5s cannot UUID WHY    it cannot be fenced, or its fence cannot be taken away
//
// What is to be fenced is printed where it has changed.

// doFences does the words of fences, and says whether it was one.
func (s *stage) doFences(word string, args []string) bool {
	var all []Fenced
	switch word {
	case "fence":
		s.policy.Fence = true
		s.plan = NewPlan(s.policy)
		return true
	case "plugin":
		s.node.Offered.Capacity, _ = strconv.ParseInt(args[0], 10, 64)
		return true
	case "stand":
		for _, f := range s.fences(args) {
			f.Rules = []string{"rule-" + f.GPU}
			all = append(all, Fenced{Fence: f})
		}
	case "gone":
		for _, f := range s.fences(args) {
			all = append(all, Fenced{Fence: f, Gone: true})
		}
	case "changed":
		for _, f := range s.fences(args[:1]) {
			all = append(all, Fenced{Fence: f, Changed: strings.Join(args[1:], " ")})
		}
	case "cannot":
		for _, f := range s.fences(args[:1]) {
			all = append(all, Fenced{Fence: f, Why: strings.Join(args[1:], " ")})
		}
	default:
		return false
	}
	s.plan.Fenced(s.now, all)
	return true
}

// fences gives those of some GPUs that the plan wants.
func (s *stage) fences(gpus []string) []Fence {
	all, _ := s.plan.Fences()
	return slices.DeleteFunc(all, func(f Fence) bool { return !slices.Contains(gpus, f.GPU) })
}

// tellFences prints what is to be fenced.
func (s *stage) tellFences() {
	if !s.policy.Fence {
		return
	}
	line := "fence"
	all, _ := s.plan.Fences()
	for _, f := range all {
		line += fmt.Sprintf(" %s=%s stands=%v", f.Key(), f.Fault, f.InForce())
		if f.Ends {
			line += strings.TrimSuffix(" ends "+f.Stays, " ")
		}
	}
	if line != s.fenced {
		fmt.Fprintf(&s.out, "+%-7v %s\n", s.now.Sub(s.start), line)
	}
	s.fenced = line
}
