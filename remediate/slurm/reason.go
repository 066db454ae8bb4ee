package slurm

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// owned is how a reason of ours is written; whatever an administrator adds to it
// makes it theirs. The last part is Slurm's own, while it reboots the node.
var owned = regexp.MustCompile(`^gpuhealthd: (\S+)(?: (\S+)(?: and \d+ more)?)? \(([^()\s]+)\)(?: : reboot issued)?$`)

// signed is what scontrol shows behind a reason: by whom, and when.
var signed = regexp.MustCompile(`^(.*) \[[^\[\]]*@([0-9T:-]+)\]$`)

// reasonOf tells an incident in the one line that Slurm keeps of a drain.
func reasonOf(n remediate.Note) string {
	where := ""
	if len(n.GPUs) > 0 {
		where = " " + word(n.GPUs[0])
	}
	if more := len(n.GPUs) - 1; more > 0 {
		where += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("gpuhealthd: %s%s (%s)", word(n.Fault), where, word(n.ID))
}

// noteOf reads a reason as scontrol shows it; nil where it is not ours.
func noteOf(shown string) *remediate.Note {
	var opened time.Time
	if m := signed.FindStringSubmatch(shown); m != nil {
		shown = m[1]
		// The controller's clock in its own zone: good for an age that people read.
		opened, _ = time.ParseInLocation("2006-01-02T15:04:05", m[2], time.Local)
	}
	m := owned.FindStringSubmatch(shown)
	if m == nil {
		return nil
	}
	n := &remediate.Note{Fault: m[1], ID: m[3], GPUs: []string{}, Opened: opened, Radius: fault.Node.String(), Owner: remediate.OwnerAgent}
	if m[2] != "" {
		n.GPUs = append(n.GPUs, m[2])
	}
	return n
}

// maxWord is longer than any class, UUID or id.
const maxWord = 64

// word makes a text safe as one word of a reason: a part of it may come from a
// kernel log or a driver that lies.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:", r)) {
			return r
		}
		return '?'
	}, s)
	if s == "" {
		return "?"
	}
	return s[:min(len(s), maxWord)]
}
