package remediate

import (
	"fmt"
	"slices"
	"strings"
)

// The words of mode repair, in TestScenarios:
//
//	+0s mode repair [drain=MEANS] [at=wait|force] [restart=MEANS] [reset=MEANS] [holders=reboot|hold] [reboot=MEANS]
//	         [diag=MEANS] [unproven=hold|accept] [every=TIME[,HH-HH]]
//	+0s boot ID                       this boot's id; before anything is heard
//	+5s occupied [UUID=POD…]          who holds which GPU; nobody
//	+5s occupied unknown WHY          it cannot be told
//	+5s owes WHAT                     the deed is about to change something
//	+5s undone                        the deed has put everything back
//	+9s done RESULT [UUID=POD…] [TEXT…]   the deed has ended
//
// What is under way, whose occupancy is asked for, what steps wait for, and how far
// each incident's steps are, is printed where it has changed. Of diagnoses see scenario_diag_test.go.

func (s *stage) mode(n int, args []string) {
	s.policy.Mode = Mode(args[0])
	if s.policy.Mode == Repair {
		s.policy = DefaultRepair()
		s.policy.Drain.Mode, s.policy.Reset.Mode, s.policy.Reboot.Mode = MeansPods, MeansCommand, MeansCommand
	}
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "drain":
			s.policy.Drain.Mode = Means(value)
		case "restart":
			s.policy.Restart.Mode = Means(value)
		case "at":
			s.policy.Drain.AtDeadline = AtDeadline(value)
		case "reset":
			s.policy.Reset.Mode = Means(value)
		case "holders":
			s.policy.Reset.OnHolders = OnHolders(value)
		case "reboot":
			s.policy.Reboot.Mode = Means(value)
		case "diag":
			s.policy.Diag.Mode = Means(value)
		case "unproven":
			s.policy.Diag.Unproven = Unproven(value)
		case "every":
			s.policy.Diag.Schedule = s.schedule(n, value)
		default:
			s.t.Fatalf("line %d: unknown setting %q", n, a)
		}
	}
	s.plan = NewPlan(s.policy)
}

func (s *stage) doRepair(n int, word string, args []string) {
	switch word {
	case "boot":
		s.plan.Boot(s.now, args[0])
	case "occupied":
		o := Occupancy{At: s.now, Holders: holding(args)}
		if len(args) > 0 && args[0] == "unknown" {
			o.Unknown = strings.Join(args[1:], " ")
		}
		s.plan.Occupied(s.now, o)
	case "owes":
		if !s.plan.Owes(s.now, s.deed(n).ID, strings.Join(args, " ")) {
			fmt.Fprintf(&s.out, "+%-7v must not be changed\n", s.now.Sub(s.start))
		}
	case "undone":
		s.plan.Undone(s.now, s.deed(n).ID)
	case "done":
		hs := holding(args[1:])
		s.plan.Done(s.now, Outcome{Deed: s.deed(n).ID, Result: Result(args[0]), Holders: hs, Text: strings.Join(args[1+len(hs):], " ")})
	default:
		s.doDiag(n, word, args)
	}
}

func (s *stage) deed(n int) Deed {
	d := s.plan.Deed()
	if d == nil {
		s.t.Fatalf("line %d: no deed is under way", n)
	}
	return *d
}

// holding reads UUID=POD as far as there are such words; outside pods it is a service.
func holding(args []string) []Holder {
	hs := []Holder{}
	for _, a := range args {
		uuid, pod, ok := strings.Cut(a, "=")
		if !ok {
			break
		}
		hs = append(hs, Holder{GPU: uuid, PID: 4711, Process: "python3", Pod: pod, Service: pod == ""})
	}
	return hs
}

func (s *stage) tellRepair() {
	if s.policy.Mode != Repair {
		return
	}
	lines := []string{"deed  " + deedLine(s.plan.Deed(), s)}
	var watched []string
	gpus, _ := s.plan.Watches(s.now)
	for _, d := range gpus {
		watched = append(watched, d.PCI.String())
	}
	lines = append(lines, "watch "+strings.Join(watched, " "))
	for _, w := range s.waits() {
		lines = append(lines, "wait  "+w)
	}
	for _, i := range s.plan.Incidents() {
		line := fmt.Sprintf("      %s %s", i.Verdict.ID, i.State)
		for _, step := range i.Steps {
			line += fmt.Sprintf(" %s=%s", step.Kind, step.Status)
		}
		if r := i.Replacement; r != nil {
			line += " tried"
			for _, a := range r.Tried {
				line += fmt.Sprintf(" %s@%v", a.Kind, a.At.Sub(s.start))
			}
			if why := s.plan.Failures(r.GPUs); why != "" {
				line += " failed: " + why + ";"
			}
			for _, c := range r.Checked {
				line += fmt.Sprintf(" diag %s=%s", c.GPU, c.Check)
			}
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		if !slices.Contains(s.repair, line) {
			fmt.Fprintf(&s.out, "+%-7v %s\n", s.now.Sub(s.start), line)
		}
	}
	s.repair = lines
}

// waits says what steps wait for.
func (s *stage) waits() (all []string) {
	line := func(id string, w Waiting) {
		text := fmt.Sprintf("%s/%s for %s", id, w.Step, w.For)
		if !w.Until.IsZero() {
			text += fmt.Sprintf(" until +%v", w.Until.Sub(s.start))
		}
		all = append(all, text)
	}
	for _, i := range s.plan.Incidents() {
		for _, w := range s.plan.Waits(s.now, i.Verdict.ID) {
			line(i.Verdict.ID, w)
		}
	}
	if w := s.plan.AskingWaits(s.now); w != nil {
		line(s.plan.Asking().ID, *w)
	}
	return all
}

func deedLine(d *Deed, s *stage) string {
	if d == nil {
		return "none"
	}
	line := fmt.Sprintf("%s of %s until +%v", d.ID, d.where(), d.Deadline.Sub(s.start))
	if d.Force {
		line += " force"
	}
	if d.Level > 0 {
		line += fmt.Sprintf(" level %d", d.Level)
	}
	if d.Resumable {
		line += " resumable"
	}
	if len(d.Undo) > 0 {
		line += fmt.Sprintf(" undo=%v", d.Undo)
	}
	if d.Undoing {
		line += " undoing"
	}
	return line
}
