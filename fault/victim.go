package fault

import (
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// blamed is who has claimed the fault whose victims are on this node: a neighbour, or
// a GPU of the node itself. Over is since when nobody claims it any more; Rested says
// that links have had their time to train since then.
type blamed struct {
	Name   string    `json:",omitempty"`
	Over   time.Time `json:",omitzero"`
	Rested bool      `json:",omitempty"`
}

// blame remembers who claims the fault that the node is a victim of: when that is
// repaired nobody claims it any more, and the links of the repaired train anew.
func (j *Judge) blame(now time.Time) {
	for _, e := range j.ordered() {
		r := j.now.reaches[e.key()]
		if e.Class == RecoveryAction {
			r = j.reachOf(e.PCI)
		}
		if r.Victim && r.Sure && r.Root != "" {
			j.root = blamed{Name: r.Root}
			return
		}
	}
	if j.root.Name == "" {
		return
	}
	if j.root.Over.IsZero() {
		j.root.Over = now
	}
	j.root.Rested = now.Sub(j.root.Over) >= nvlink.TrainingTime
}

// reachOf is how far the NVLink 5 errors of a GPU reach; where it has none of its own,
// how far the newest of the node do.
func (j *Judge) reachOf(pci xidparse.PCI) nvlink.Reach {
	for code := firstLink5; code <= lastLink5; code++ {
		e := j.open[key{pci: pci, class: XIDClass(code)}]
		if e == nil {
			continue
		}
		if root := j.rootOf(e); root != nil && root.PCI != pci && isLink5(root.Class) {
			return victimOf(j.named(root.PCI).String())
		}
		if r, known := j.now.reaches[e.key()]; known {
			return r
		}
	}
	return j.now.latest
}

// victimOf is the reach of what only echoes a GPU of the same node.
func victimOf(guilty string) nvlink.Reach {
	return nvlink.Reach{Extent: nvlink.ExtentGPU, Victim: true, Sure: true, Root: guilty, Why: "the root is " + guilty + ", of this node"}
}

// refineAsked lets what the driver asks for of a victim's GPU wait.
func (j *Judge) refineAsked(e *episode, v *Verdict) []string {
	switch r := j.reachOf(e.PCI); {
	case r.Victim && (r.Sure || j.inRack()):
		return append([]string{r.Why}, j.refineVictim(e, v, r)...)
	case j.root.Name != "" && !e.Opened.After(j.root.Over):
		return j.refineAfter(e, v)
	}
	return nil
}

// refineVictim lets a victim's repair wait for its root's. Where nobody can be heard,
// and nobody of the node itself is to blame, the driver's word stands.
func (j *Judge) refineVictim(e *episode, v *Verdict, r nvlink.Reach) []string {
	v.Elsewhere = r.Sure
	switch {
	case v.Action <= Hold || j.cfg.Correlate <= 0 && !r.Sure:
		return nil
	case !r.Sure && j.root.Name != "":
		return j.refineAfter(e, v)
	}
	v.hold()
	if r.Root == "" {
		return []string{"nothing is repaired here for it"}
	}
	return []string{"the repair here waits for the one there"}
}

// refineAfter says what is done for a victim once its root's repair is over: nothing
// while the links may still train, and after that what is still asked for.
func (j *Judge) refineAfter(e *episode, v *Verdict) []string {
	over := "that of " + j.root.Name + " is over"
	switch {
	case v.Action <= Hold:
		return nil
	case !j.root.Rested:
		v.hold()
		return []string{fmt.Sprintf("%s: links are given %v to train, and the driver to ask for nothing any more", over, nvlink.TrainingTime)}
	case j.devices[e.PCI].Arbiter == recoverNone:
		v.hold()
		return []string{over + ", and the driver asks for nothing here"}
	}
	return []string{over + ", and this one is still asked for"}
}
