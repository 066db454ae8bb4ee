package fault

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// eccAnswer stands for the error counters among the values that no GPU answers.
const eccAnswer = "ecc"

// nowhere gives the values that not one of several GPUs answers, although one
// has before: then the driver is at fault, or this agent's container, and no GPU.
func (j *Judge) nowhere(inv Inventory) map[string]bool {
	asked := 0
	failed, had := map[string]int{}, map[string]bool{}
	for _, g := range inv.GPUs {
		if g.Lost || g.Failed != "" {
			continue
		}
		asked++
		d := j.device(g.PCI)
		if g.Memory.Error {
			failed[eccAnswer]++
			had[eccAnswer] = had[eccAnswer] || d.Memory.Answered
		}
		for value, told := range g.Answers {
			if !told {
				failed[value]++
				had[value] = had[value] || d.Had[value]
			}
		}
	}
	none := map[string]bool{}
	for value, n := range failed {
		if n > 1 && n == asked && had[value] {
			none[value] = true
		}
	}
	return none
}

// mute judges the values that no GPU answers. It blames none.
func (j *Judge) mute(now time.Time, none map[string]bool) {
	k := key{class: GPUFailed}
	if len(none) == 0 {
		if j.mutes = 0; j.nameless[GPUFailed] == 0 {
			j.seen(now, k)
		}
		return
	}
	if j.mutes++; j.mutes >= lostLimit {
		j.shown(now, k.pci, k.class).explain(list(none))
	}
}

// answers counts a poll in which one GPU answered with an error what it told
// before, and others still do.
func (j *Judge) answers(now time.Time, d *device, g GPUState, none map[string]bool) {
	missing := d.missing(g)
	for value := range none {
		delete(missing, value)
	}
	if len(missing) == 0 {
		d.Failing = 0
		return
	}
	if d.Failing++; d.Failing >= lostLimit {
		j.shown(now, g.PCI, GPUFailed).explain(list(missing))
	}
}

// missing gives the values that the GPU has told once and answers with an error
// now, and remembers those that it tells.
func (d *device) missing(g GPUState) map[string]bool {
	missing := map[string]bool{}
	for value, told := range g.Answers {
		switch {
		case told && d.Had == nil:
			d.Had = map[string]bool{value: true}
		case told:
			d.Had[value] = true
		case d.Had[value]:
			missing[value] = true
		}
	}
	return missing
}

// unanswered says whether what an episode is of still goes unanswered.
func (j *Judge) unanswered(e *episode, g GPUState) bool {
	switch e.Class {
	case ECCUnreadable:
		return g.Memory.Error
	case GPUFailed:
		return len(j.device(e.PCI).missing(g)) > 0
	}
	return false
}

func list(values map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ") + ": Unknown Error, and told before"
}
