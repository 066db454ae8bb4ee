package agent

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// course is a history that is under way: an agent in mode repair on a machine.
type course struct {
	*stage
	history history
	machine *machine
	crash   *crasher
	// lapsed are the deeds over which an agent has died, so that nobody knows how
	// they ended.
	lapsed []lapse
}

// newCourse sets a history up in a folder. The agent runs once it is started.
func newCourse(t testing.TB, dir string, h history) *course {
	c := &course{stage: newStageIn(t, dir), history: h}
	c.machine, c.crash = newMachine(c.world), &crasher{s: c.stage, atRestart: func() {}}
	c.machine.disk = c.onDisk
	c.actuator, c.onSave = c.crash, func() { c.crash.point() }
	c.crash.atRestart = func() {
		if l, ok := c.lapse(); ok {
			c.lapsed = append(c.lapsed, l)
		}
		c.booted()
	}
	hand := hand{c.machine, c.crash}
	c.adjust = func(o *Options) {
		o.Policy = repairPolicy()
		if h.policy != nil {
			h.policy(&o.Policy)
		}
		o.Evidence, o.Occupant = nil, hand
		o.Doers = map[remediate.StepKind]Doer{remediate.StepDrain: drainer{hand}, remediate.StepRestart: drainer{hand}, remediate.StepReboot: rebooter{hand},
			remediate.StepReset: resetter{hand, h.fails, h.sticky}}
		if o.Policy.Reset.Mode == remediate.MeansAnnotation {
			o.Doers[remediate.StepReset] = asker(t, hand)
		}
	}
	c.booted()
	return c
}

// booted brings what the kernel tells of itself to the boot of the machine.
func (c *course) booted() {
	if id := c.machine.bootID(); c.log.boot != id {
		c.log.reboot(id)
		c.boot(id)
	}
}

// lapse is the deed that nobody knows the end of, if the agent is dead now: it was
// begun, by what the disk has, is not to be done twice, and has not been marked.
func (c *course) lapse() (l lapse, ok bool) {
	d := deedOnDisk(c.onDisk())
	l = lapse{d.ID, c.machine.did(d.ID)}
	switch {
	case d.ID == "" || d.Resumable || d.Undoing || d.Watched:
		return l, false
	case d.Kind == remediate.StepReboot && l.Done:
		return l, false // the boot tells
	}
	return l, true
}

// live lets the history go on until nothing more comes.
func (c *course) live() {
	for still := 0; still < 3; still++ {
		if c.step(); !c.rests() {
			still = 0
		}
		if c.machine.Polls > 400 {
			c.machine.wrong("no end: %+v", c.Status().Incidents)
			break
		}
	}
}

// print is what a crash would leave: the disk and the world. Where it is the same at
// two points in a row, they are one.
func (c *course) print() [sha256.Size]byte {
	c.machine.mu.Lock()
	defer c.machine.mu.Unlock()
	node, desired := c.world.state()
	world := fmt.Sprintf("%+v %+v %+v %v", c.machine.standing, node, desired, c.world.told())
	return sha256.Sum256(append(c.bytesOnDisk(), world...))
}

// step is one poll, and what happens before it.
func (c *course) step() {
	if c.machine.up() {
		c.crash.die()
	}
	c.crash.restarted()
	if c.happens() {
		c.hear(c.machine.Said...)
	}
	c.apply.poke() // as the watch of the Node does
	c.report(c.machine.inventory())
	time.Sleep(period)
	synctest.Wait()
}

// happens is what others do, and says whether the kernel tells of it.
func (c *course) happens() bool {
	m := c.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	breaks := m.once("it breaks", m.Polls >= 2 && len(c.Status().GPUs) > 0)
	if breaks {
		c.history.breaks(m)
	}
	if c.history.then != nil {
		c.history.then(m)
	}
	m.serve()
	return breaks
}

// rests says whether nothing goes on any more.
func (c *course) rests() bool {
	status := c.Status()
	return c.crash.alive() && c.machine.inOrder() && c.machine.Once["it breaks"] && status.Waiting == 0 &&
		!slices.ContainsFunc(status.Incidents, func(i remediate.Incident) bool {
			blocked := slices.ContainsFunc(i.Steps, func(s remediate.Step) bool { return s.Status == remediate.Blocked })
			return i.State != remediate.Failed && !i.Released && !blocked
		})
}

// inOrder says whether all that a deed may change is as it was before, and the host
// stays up.
func (m *machine) inOrder() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.Paused && len(m.Notes) == 0 && m.Down.IsZero() &&
		!slices.ContainsFunc(m.Cards[:], func(c card) bool { return !c.Persistence })
}

// legacy is all that a history leaves.
type legacy struct {
	Outcome outcome
	// Steps are those of each incident, and how far they went.
	Steps []string
	// Tried are the repairs that a replacement record names.
	Tried []string
	// Deeds are what was done, in order; Cards what became of the GPUs.
	Deeds []string
	Cards [gpus]card
	Wrong []string
}

func (c *course) legacy() legacy {
	m, status := c.machine, c.Status()
	l := legacy{Outcome: c.outcome(), Deeds: m.Deeds, Cards: m.Cards, Wrong: m.Wrong}
	if l.Outcome.Node.Note != nil {
		note := *l.Outcome.Node.Note
		note.Opened = time.Time{}
		l.Outcome.Node.Note = &note
	}
	for n := range l.Cards {
		l.Cards[n].Pods = l.Cards[n].pods(time.Now())
	}
	for _, i := range slices.Concat(status.History, status.Incidents) {
		line := i.Verdict.ID
		for _, s := range i.Steps {
			line += fmt.Sprintf(" %s=%s", s.Kind, s.Status)
		}
		l.Steps = append(l.Steps, line)
		if i.Replacement != nil {
			for _, a := range i.Replacement.Tried {
				l.Tried = append(l.Tried, fmt.Sprintf("%s %s", a.Kind, a.GPU.UUID))
			}
		}
	}
	return l
}
