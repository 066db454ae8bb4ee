package agent

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// samplesBefore is how many polls are held for an incident that is to come.
const samplesBefore = 3

// witness collects what incidents leave as evidence. All of it but the ring
// belongs to the core, and nothing in it waits for anything. A nil witness
// collects nothing.
type witness struct {
	keep *archivist
	ring *evidence.Ring
	// node says what the node is at present.
	node func() evidence.Node
	// samples are the newest polls, the newest last.
	samples []evidence.Piece
	// place is that of the line which is judged at present, nil while none is.
	place *uint64
	// said are the verdicts since the last settle, heard the lines of the driver.
	said   []said
	heard  []placed
	trails map[string]*trail
	// begun is the deed that was put down last.
	begun *remediate.Deed
}

// placed is where the kernel log has a line about a GPU.
type placed struct {
	pci   xidparse.PCI
	place uint64
}

// said is a verdict and the place in the kernel log at which it was found.
type said struct {
	verdict fault.Verdict
	at      time.Time
	place   uint64
}

func newWitness(k *archivist, node func() evidence.Node) *witness {
	return &witness{keep: k, ring: new(evidence.Ring), node: node, trails: map[string]*trail{}}
}

// records takes in whatever the kernel says. It is called by the kernel log's
// goroutine, for every record, and gives the place of the first.
func (w *witness) records(now time.Time, records []kernlog.Record) (first uint64) {
	if w == nil {
		return 0
	}
	return w.ring.Add(now, records)
}

// line says which line is judged from now on.
func (w *witness) line(place uint64, f fault.Fact) {
	if w == nil {
		return
	}
	w.place = &place
	if heard, ok := f.(fault.Heard); ok {
		w.heard = append(w.heard, placed{heard.Event.PCI, place})
	}
}

// judged says that no line is judged any more.
func (w *witness) judged() {
	if w != nil {
		w.place = nil
	}
}

// verdict takes in what the judge has changed.
func (w *witness) verdict(now time.Time, v fault.Verdict) {
	if w == nil || !v.Hardware {
		return
	}
	place := w.place
	if place == nil {
		next := w.ring.Next()
		place = &next
	}
	w.said = append(w.said, said{v, now, *place})
}

// report takes in one answer of the driver, or that there is none.
func (w *witness) report(now time.Time, r nvml.Report) {
	if w == nil {
		return
	}
	s := evidence.Sample{}
	switch r.Kind {
	case nvml.KindInventory:
		s.GPUs = r.Inventory.GPUs
	case nvml.KindHung:
		s.Trouble = silence(*r.Hung)
	case nvml.KindFailed:
		s.Trouble = r.Failed.Error()
	case nvml.KindDied:
		s.Trouble = died(*r.Died)
	default:
		return
	}
	p := evidence.Piece{Kind: evidence.KindSample, At: now, Sample: &s}
	w.samples = append(w.samples, p)
	w.samples = w.samples[max(0, len(w.samples)-samplesBefore):]
	for id, t := range w.trails {
		if t.sampleDue(now) {
			w.keep.put(id, t.sample(p))
		}
	}
}

// settle brings every bundle up to what the plan holds now.
func (w *witness) settle(now time.Time, s *Status, outbox []remediate.Event) {
	if w == nil {
		return
	}
	for _, i := range s.Incidents {
		w.follow(now, i, s, outbox)
	}
	for id, t := range w.trails {
		if !slices.ContainsFunc(s.Incidents, func(i remediate.Incident) bool { return i.Verdict.ID == id }) {
			w.end(now, id, t, s, outbox)
		}
	}
	w.said, w.heard = nil, w.heard[:0]
}

// follow brings one bundle up to date, and begins it where there is none.
func (w *witness) follow(now time.Time, i remediate.Incident, s *Status, outbox []remediate.Event) {
	id := i.Verdict.ID
	t := w.trails[id]
	if t == nil {
		t = w.begin(now, i)
	}
	w.tell(now, id, t, outbox)
	w.progress(now, id, t, i)
	for _, r := range s.Replacements {
		if r.Incident == id && t.replaces(r) {
			w.keep.put(id, evidence.Piece{Kind: evidence.KindReplacement, At: now, Replace: &r})
		}
	}
}

// begin opens the bundle of an incident: what the node is, and what was before.
func (w *witness) begin(now time.Time, i remediate.Incident) *trail {
	id := i.Verdict.ID
	t := newTrail()
	t.about(i.Verdict)
	w.trails[id] = t
	node := w.node()
	w.keep.put(id, evidence.Piece{Kind: evidence.KindNode, At: now, Node: &node})
	for _, p := range w.samples {
		w.keep.put(id, t.sample(p))
	}
	if !slices.ContainsFunc(w.said, func(s said) bool { return s.verdict.ID == id }) {
		w.said = append(w.said, said{i.Verdict, now, w.ring.Next()})
	}
	return t
}

// tell puts down what was said of an incident: verdicts, the kernel's lines and
// events.
func (w *witness) tell(now time.Time, id string, t *trail, outbox []remediate.Event) {
	for _, s := range w.said {
		if s.verdict.ID == id {
			t.about(s.verdict)
			t.around(s.place)
		}
	}
	for _, l := range w.heard {
		if slices.ContainsFunc(t.devices, func(d fault.Device) bool { return d.PCI == l.pci }) {
			t.around(l.place)
		}
	}
	for _, p := range t.lines(now, w.ring) {
		w.keep.put(id, p)
	}
	for _, s := range w.said {
		if s.verdict.ID == id {
			w.keep.put(id, evidence.Piece{Kind: evidence.KindVerdict, At: s.at, Verdict: &s.verdict})
		}
	}
	for _, e := range outbox {
		if t.tells(id, e) {
			w.keep.put(id, evidence.Piece{Kind: evidence.KindEvent, At: e.At, Event: &e})
		}
	}
}

func (w *witness) progress(now time.Time, id string, t *trail, i remediate.Incident) {
	p := evidence.ProgressOf(i)
	if t.moves(p) {
		w.keep.put(id, evidence.Piece{Kind: evidence.KindProgress, At: now, Progress: &p})
	}
}

// end closes the bundle of an incident that is over.
func (w *witness) end(now time.Time, id string, t *trail, s *Status, outbox []remediate.Event) {
	w.tell(now, id, t, outbox)
	for _, i := range slices.Backward(s.History) {
		if i.Verdict.ID == id {
			w.progress(now, id, t, i)
			break
		}
	}
	if n := len(w.samples); n > 0 && w.samples[n-1].At.After(t.sampled) {
		w.keep.put(id, t.sample(w.samples[n-1]))
	}
	if m := t.skipped(); m != nil {
		w.keep.put(id, evidence.Piece{Kind: evidence.KindMissing, At: now, Missing: m})
	}
	w.keep.put(id, evidence.Piece{Kind: evidence.KindEnd, At: now})
	delete(w.trails, id)
}

// deed puts down what the agent itself is at, in the bundles of those that it
// serves.
func (w *witness) deed(now time.Time, d *remediate.Deed) {
	if w == nil || d == nil || sameDeed(w.begun, d) {
		return
	}
	w.begun = d
	w.serving(d, evidence.Piece{Kind: evidence.KindDeed, At: now, Deed: d})
}

// outcome puts down how a deed ended, if it is the one under way.
func (w *witness) outcome(now time.Time, d *remediate.Deed, o remediate.Outcome) {
	if w == nil || d == nil || d.ID != o.Deed {
		return
	}
	if len(o.Report) > 0 {
		w.serving(d, evidence.Piece{Kind: evidence.KindDiag, At: now, Diag: o.Report})
		o.Report = nil
	}
	w.serving(d, evidence.Piece{Kind: evidence.KindOutcome, At: now, Outcome: &o})
}

// serving puts a piece into the bundles of the open incidents that a deed serves.
func (w *witness) serving(d *remediate.Deed, p evidence.Piece) {
	for _, id := range d.Incidents {
		if w.trails[id] != nil {
			w.keep.put(id, p)
		}
	}
}

// remember ends the bundles of incidents that ended when their agent did.
func (w *witness) remember(now time.Time, ended []remediate.Incident) {
	if w == nil {
		return
	}
	for _, i := range ended {
		w.keep.put(i.Verdict.ID, evidence.Piece{Kind: evidence.KindEnd, At: now})
	}
}
