package serving

import (
	"cmp"
	"time"
)

// Part names a part of a score.
type Part string

// The parts.
const (
	// PartProgress falls with the time for which no request gets on, to 0 at a stall.
	PartProgress Part = "progress"
	// PartLatency falls as requests wait longer than those of others do.
	PartLatency Part = "latency"
	// PartGPU is the share of the GPUs that are in order: neither wedged nor known to be
	// at fault.
	PartGPU Part = "gpu"
	// PartCanary is the share of a canary's last requests that passed. It comes beside
	// what Scores knows: Set.
	PartCanary Part = "canary"
)

// Score is the health of a replica. No engine tells its latencies by the length of
// the prompt, so that all lengths count together.
type Score struct {
	Replica Replica `json:"replica"`
	Model   string  `json:"model,omitempty"`
	State   State   `json:"state"`
	// Value is that of the worst part, from 0 to 1; nil where no part is known.
	Value *float64 `json:"value,omitempty"`
	// Parts are those that are known, each from 0 to 1.
	Parts   map[Part]float64 `json:"parts"`
	Latency Latency          `json:"latency"`
}

// Scores gives every replica its score, sorted by name. Sick are the UUIDs of GPUs
// with a fault of their own.
func (w *Watch) Scores(now time.Time, fleet Fleet, sick map[string]bool) []Score {
	rs := w.sorted()
	scores := make([]Score, 0, len(rs))
	for _, r := range rs {
		l := w.look(now, r)
		s := Score{Replica: r.now, Model: r.model(), State: l.State, Latency: r.latency(), Parts: map[Part]float64{}}
		s.Set(PartProgress, w.progress(now, r, l))
		if gpu := w.inOrder(now, l, sick); gpu != nil && (*gpu < 1 || r.told()) {
			s.Set(PartGPU, gpu)
		}
		scores = append(scores, s)
	}
	for i := range scores {
		s := &scores[i]
		s.Set(PartLatency, worst(s.Latency.against(peers(scores, i)), s.Latency.against(fleet[s.Model])))
	}
	return scores
}

// told says whether any engine of a replica has told of itself: that the GPUs are in order
// speaks for nobody else.
func (r *replica) told() bool {
	for range r.engines() {
		return true
	}
	return false
}

// Set adds a part, from 0 to 1, where it is known.
func (s *Score) Set(part Part, v *float64) {
	if v != nil {
		s.Parts[part] = *v
		s.Value = worst(s.Value, v)
	}
}

// progress is 1 for a replica that gets on, and falls to 0 at a stall, by the engine
// that is worst off. It goes by counters that move while a request is computed on;
// while its GPUs work, that they do not move is nothing yet.
func (w *Watch) progress(now time.Time, r *replica, l Look) (part *float64) {
	if l.State == Stalled {
		return new(float64)
	}
	for p, e := range r.engines() {
		one := 1.0
		switch {
		case p.phase(now, e, w.cfg) == resting:
		case !e.works() || !e.Measured || p.busy || p.stale(now, w.cfg):
			continue
		case l.side != sideWorking:
			lag := e.last.Lag
			one = min(1, max(0, 1-(p.stillFor(e)-lag).Seconds()/(p.patience(e, w.cfg)-lag).Seconds()))
		}
		part = worst(part, &one)
	}
	return part
}

// inOrder is the share of the GPUs that are in order, of those that are known. One
// that seems to be busy while nothing is open is nothing.
func (w *Watch) inOrder(now time.Time, l Look, sick map[string]bool) *float64 {
	n, well := 0.0, 0.0
	for _, uuid := range l.Replica.GPUs {
		g := w.gpus[uuid]
		switch {
		case sick[uuid]:
			n++
		case g == nil || w.old(now, g) || g.doing == Unknown:
		case g.doing == Wedged && g.idle >= settled && l.State != Well:
			n++
		default:
			n, well = n+1, well+1
		}
	}
	if n == 0 {
		return nil
	}
	share := well / n
	return &share
}

// worst is the lower of two parts, of those that are known.
func worst(a, b *float64) *float64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	v := min(*a, *b)
	return &v
}
