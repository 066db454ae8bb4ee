package remediate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// The words of the guards, in TestScenarios; after those that set the mode:
//
//	+0s guards [alone]         the default rules; alone: without a group to ask
//	+0s mode-of CLASS MODE     another mode for a class of fault
//	+5s inhand [LABEL=VALUE]   somebody has the node in hand, or nobody
//	+5s lets ACTION…           the group lets what is asked for of that, and holds the rest
//	+5s lets-late ACTION…      the same, in an answer that comes too late
//
// What is asked of the group, what is held, and the leave, are printed where they
// have changed.

// doGuards does the words of the guards, and says whether it was one.
func (s *stage) doGuards(word string, args []string) bool {
	switch word {
	case "guards":
		rules := guard.Default()
		rules.Fleet = len(args) == 0
		s.policy.Guards = &rules
		s.plan = NewPlan(s.policy)
	case "mode-of":
		s.policy.Modes = map[fault.Class]Mode{fault.Class(args[0]): Mode(args[1])}
		s.plan = NewPlan(s.policy)
	case "inhand":
		labels := map[string]string{}
		for _, a := range args {
			key, value, _ := strings.Cut(a, "=")
			labels[key] = value
		}
		s.node.InHand = guard.InHandOf(labels, nil)
		s.plan.Node(s.now, s.node.Observed)
	case "lets", "lets-late":
		s.answer(word == "lets-late", args)
	default:
		return false
	}
	return true
}

func (s *stage) answer(late bool, actions []string) {
	a := Reply{Until: s.now.Add(20 * time.Second), Leave: s.plan.Leave() == nil}
	if late {
		a.Until = s.now
	}
	for _, ask := range s.plan.Asks() {
		if slices.Contains(actions, string(ask.Action)) {
			a.Granted = append(a.Granted, ask)
			continue
		}
		a.Held = append(a.Held, Refusal{ask, []guard.Hold{{Guard: guard.Budget, Why: "1 of 1 is out", Until: "none is"}}})
	}
	s.plan.Replied(s.now, a)
}

// tellGuards prints what guards hold.
func (s *stage) tellGuards() {
	if s.policy.Guards == nil {
		return
	}
	var asks []string
	for _, a := range s.plan.Asks() {
		asks = append(asks, strings.TrimPrefix(fmt.Sprintf("%s/%s", a.Incident, a.Action), "/"))
	}
	lines := []string{"asks  " + strings.Join(asks, " "), "leave " + s.given(s.plan.Leave())}
	if s.policy.Diag.Schedule.Every > 0 {
		lines = append(lines, "turn  "+s.given(s.plan.Turn()))
	}
	for _, h := range s.plan.ClockHeld() {
		lines = append(lines, fmt.Sprintf("held  %s by %s since +%v: %s; until %s", h.Action, h.Guard, h.Since.Sub(s.start), h.Why, h.Hold.Until))
	}
	for _, i := range s.plan.Incidents() {
		for _, h := range i.Held {
			lines = append(lines, fmt.Sprintf("held  %s/%s by %s since +%v: %s; until %s", i.Verdict.ID, h.Action, h.Guard, h.Since.Sub(s.start), h.Why, h.Hold.Until))
		}
	}
	for _, line := range lines {
		if !slices.Contains(s.guards, line) {
			fmt.Fprintf(&s.out, "+%-7v %s\n", s.now.Sub(s.start), line)
		}
	}
	s.guards = lines
}

// given says since when there is a leave.
func (s *stage) given(l *Leave) string {
	if l == nil {
		return "none"
	}
	return fmt.Sprintf("+%v seen=%v", l.Given.Sub(s.start), l.Seen)
}
