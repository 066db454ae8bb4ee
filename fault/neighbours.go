package fault

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// DefaultCorrelate is how long the neighbours are given to say what they see: a
// link that goes down is told by everybody within a second.
const DefaultCorrelate = 3 * time.Second

// Neighbours is what the other nodes of the NVLink domain say at present, all of
// them that have an agent: the quiet ones too.
type Neighbours struct{ Heard []nvlink.Summary }

func (Neighbours) isFact() {}

// neighbours takes in what the domain says. It is a level: what was said before
// is forgotten.
func (j *Judge) neighbours(n Neighbours) {
	j.domain = n.Heard
	j.reachDown()
}

// Heard is what the neighbours say at present, as it was told last.
func (j *Judge) Heard() []nvlink.Summary { return j.domain }

// Listens names the NVLink domain whose other nodes the judge wants to hear: while
// a fault is open that only they can judge. It is empty for none.
func (j *Judge) Listens() string {
	if !j.inRack() {
		return ""
	}
	for _, e := range j.open {
		if e.ofRack() && !e.Faded {
			return j.shape().Domain
		}
	}
	return ""
}

// inRack says whether there are neighbours that can be heard.
func (j *Judge) inRack() bool { return j.cfg.Correlate > 0 && j.shape().MultiNode() }

// Domain names the NVLink domain and partition that the node is in, empty for none.
func (j *Judge) Domain() string { return j.shape().Domain }

// ofRack says whether a fault may be that of another node of the domain.
func (e *episode) ofRack() bool {
	return (isLink5(e.Class) && e.Link5.speaks() || e.Class == LinksDown || e.Class == FabricUnhealthy) && e.Confirmed
}

// Summary is what the node tells its domain of its own links.
func (j *Judge) Summary() nvlink.Summary {
	var s nvlink.Summary
	if !j.shape().MultiNode() {
		return s
	}
	f := j.failure(slices.Concat(j.flurries((*episode).toldByLink5)...))
	echoes := map[xidparse.PCI]bool{}
	for _, e := range j.ordered() {
		switch {
		case e.Link5 == nil || !e.ofRack() || e.Faded || !e.Cured.IsZero():
		case e.claims():
			s.Roots = append(s.Roots, j.uuidOr(e.PCI))
		default:
			echoes[e.PCI] = true
		}
	}
	s.Echoes = len(echoes)
	for pci, d := range j.devices {
		if len(d.Links.down) > 0 { // at once: neighbours that judge later have to know
			f.Down[nvlink.Address(pci)] = d.Links.down
		}
		outlasted := len(d.Links.down) > 0 && j.open[key{pci: pci, class: LinksDown}] != nil
		s.Training = s.Training || (d.Links.fabric.Reads > 0 || d.Links.state.Reads > 0) && !outlasted
	}
	s.Down, s.AllDown = f.Brief()
	return s
}

// uuidOr names a GPU, by its address where nothing else is known.
func (j *Judge) uuidOr(pci xidparse.PCI) string {
	if d := j.named(pci); d.UUID != "" {
		return d.UUID
	}
	return pci.String()
}

// fadesAfter is how long what only echoes is told to the domain, and listened for.
const fadesAfter = 10 * time.Minute

// again begins another window for what was quiet: it is another incident.
func (j *Judge) again(now time.Time, e *episode) {
	if e.Count > 0 && isLink5(e.Class) && now.Sub(e.Last) > EchoWindow && !e.said.Acts() {
		e.Begun, e.Weighed, e.Faded, j.root = now, false, false, blamed{}
	}
}

// window is how long an episode is watched before it is acted on.
func (j *Judge) window(e *episode) time.Duration {
	switch {
	case e.Class == FabricManagerDead:
		return managerWindow
	case e.ofRack() && j.inRack():
		return j.cfg.Correlate
	}
	return 0
}

// weigh ends the windows that are over, and forgets what the domain said, and who was
// to blame, once nothing is open that this could judge.
func (j *Judge) weigh(now time.Time) {
	racked, asked := false, false
	for _, e := range j.open {
		e.Weighed = e.Weighed || now.Sub(e.Begun) >= j.window(e)
		e.Faded = e.Link5 != nil && e.Link5.Action < Reset && !e.Asked && now.Sub(e.Last) > fadesAfter
		racked, asked = racked || e.ofRack(), asked || e.Class == RecoveryAction
	}
	if !racked {
		j.domain = nil
	}
	if !racked && !asked {
		j.root = blamed{}
	}
}

// Due is when the next window ends, zero where none is open: Tick is wanted then.
func (j *Judge) Due() (next time.Time) {
	for _, e := range j.open {
		if end := e.Begun.Add(j.window(e)); !e.Weighed && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next
}

// refineRack lets the domain speak about a fault of links. A guilty tray acts by
// itself; a victim waits for the guilty one's repair, whatever its own driver asks
// for; for a switch, which is everybody's, nobody acts.
func (j *Judge) refineRack(e *episode, v *Verdict) []string {
	switch {
	case e.Class == RecoveryAction:
		return j.refineAsked(e, v)
	case !j.shape().MultiNode() || !e.ofRack() || e.Class == FabricUnhealthy:
		return nil
	case !e.Weighed && v.Action > Record:
		v.hold()
		v.Radius = min(v.Radius, Node) // the others may not all have spoken
		return []string{fmt.Sprintf("the neighbours are given %v to say what they see", j.cfg.Correlate)}
	case e.Class == LinksDown:
		return nil // reachDown has said it
	}
	r := j.now.reaches[e.key()]
	switch {
	case r.Extent == nvlink.ExtentDomain:
		if v.Radius = Domain; v.Action > Record && !j.cfg.SwitchActs {
			v.hold()
		}
		if v.Action == Record {
			v.Action = Hold
		}
		v.Elsewhere = v.Action == Hold
		return []string{r.Why}
	case r.Victim && !r.Sure && !e.Weighed && j.inRack():
		return nil // nobody has been heard yet
	case r.Victim:
		return append([]string{r.Why}, j.refineVictim(e, v, r)...)
	case e.Link5.Action < Reset:
		return nil
	case v.Action >= Cordon && !r.Sure:
		v.Radius = max(v.Radius, extents[r.Extent])
		v.hold()
	default:
		v.Radius = max(v.Radius, extents[r.Extent])
	}
	return []string{r.Why}
}

// hold leaves the node as it is, for others or for a person.
func (v *Verdict) hold() {
	v.Action, v.Later, v.Drain, v.Diag, v.Hard = Hold, None, DrainNever, 0, false
}
