package remediate

import (
	"fmt"
	"strings"
	"time"
)

// The words of diagnoses, in TestScenarios:
//
//	+9s checked UUID=CHECK[/HINT]… [TEXT…]   the diagnosis has ended
//	+9s ask LEVEL [UUID…]                    somebody asks for one by hand
//	+9s cancel                               and takes it back
//	+9s annotate TEXT                        somebody sets the annotation that asks for one
//	+9s diagnoser UUID                       a diagnosis of somebody's has a GPU open
//
// The answer to who has asked is printed once.

func (s *stage) doDiag(n int, word string, args []string) {
	switch word {
	case "checked":
		cs := s.checks(n, args)
		s.plan.Done(s.now, Outcome{Deed: s.deed(n).ID, Result: Succeeded, Checked: cs, Text: strings.Join(args[len(cs):], " ")})
	case "ask":
		var level int
		fmt.Sscan(args[0], &level)
		if _, err := s.plan.Diagnose(s.now, ByHand, level, args[1:]); err != nil {
			fmt.Fprintf(&s.out, "+%-7v not asked: %v\n", s.now.Sub(s.start), err)
		}
	case "cancel":
		if _, err := s.plan.Cancel(s.now); err != nil {
			fmt.Fprintf(&s.out, "+%-7v not cancelled: %v\n", s.now.Sub(s.start), err)
		}
	case "diagnoser":
		s.plan.Occupied(s.now, Occupancy{At: s.now, Holders: []Holder{{GPU: args[0], PID: 4712, Process: "nvvs", Service: true}}})
	case "annotate":
		s.node.Asks = strings.Join(args, " ")
	default:
		s.t.Fatalf("line %d: unknown word %q", n, word)
	}
}

// checks reads UUID=CHECK/HINT as far as there are such words.
func (s *stage) checks(n int, args []string) (cs []Checked) {
	for _, a := range args {
		uuid, check, ok := strings.Cut(a, "=")
		if !ok {
			break
		}
		check, hint, hinted := strings.Cut(check, "/")
		c := Checked{GPU: uuid, Check: Check(check), Why: "as tested"}
		if c.Check.rank() < 0 {
			s.t.Fatalf("line %d: %q is no check", n, check)
		}
		if hinted {
			if err := c.Hint.UnmarshalText([]byte(hint)); err != nil {
				s.t.Fatalf("line %d: %v", n, err)
			}
		}
		cs = append(cs, c)
	}
	return cs
}

// schedule reads TIME,FROM-TO with whole hours.
func (s *stage) schedule(n int, text string) Schedule {
	every, window, ok := strings.Cut(text, ",")
	sc := Schedule{Level: 2, Share: 0.5}
	var err error
	if sc.Every, err = time.ParseDuration(every); err != nil {
		s.t.Fatalf("line %d: %v", n, err)
	}
	if ok {
		var from, to int
		if _, err := fmt.Sscanf(window, "%d-%d", &from, &to); err != nil {
			s.t.Fatalf("line %d: %v", n, err)
		}
		sc.Windows = []Window{{time.Duration(from) * time.Hour, time.Duration(to) * time.Hour}}
	}
	return sc
}

func (s *stage) tellAnswer() {
	a := s.plan.Answer()
	for _, u := range s.plan.Unreported() {
		fmt.Fprintf(&s.out, "+%-7v no report of %s: %s %s\n", s.now.Sub(s.start), devices(u.GPUs), u.Check, u.Why)
	}
	if a == nil {
		return
	}
	line := fmt.Sprintf("answer to %s: %s %s", a.ID, a.Check, a.Text)
	for _, c := range a.NotRun {
		line += fmt.Sprintf(", %s %s: %s", c.GPU, c.Check, c.Why)
	}
	if s.answered != line {
		fmt.Fprintf(&s.out, "+%-7v %s\n", s.now.Sub(s.start), line)
	}
	s.answered = line
}
