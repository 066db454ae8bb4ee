package serving

import (
	"math"
	"slices"
	"time"
)

// Pace is how a replica's token rate compares with what is usual.
type Pace uint8

// The paces.
const (
	// PaceUnknown: there has not been enough work, or it is not known what is usual.
	PaceUnknown Pace = iota
	// PaceUsual: at least near to what is usual, or there is nothing to do.
	PaceUsual
	// PaceSlow: under the share of its own usual rate, and of its peers' where it has
	// any that work.
	PaceSlow
)

const (
	// learnFor is how long a replica must have worked at a level of load before its rate
	// there is its usual one.
	learnFor = 10 * time.Minute
	// habit is how slowly the usual changes: what has been slow for most of a working
	// day has become usual.
	habit = 6 * time.Hour
	// nearUsual is by how much more than the share a slow replica must do to be slow no
	// more.
	nearUsual = 1.5
	// doubled is the least that each request gets where twice as many run: reading the
	// model's weights takes most of a step, and is done once for all.
	doubled = 0.8
	// maxLevel bounds the levels: 65,536 requests at once.
	maxLevel = 16
)

// rate is what one request gets, in tokens a second, and all together, at a level of
// load: the binary logarithm of how many run at once. The more there are, the less each
// one gets, and the more all of them.
type rate struct {
	perRequest, all float64
	level           int
}

// habits is the usual rate at one level, of one request and of all, how long that was
// learnt, and when last.
type habits struct {
	rate, all float64
	learnt    time.Duration
	last      time.Time
}

// usual is what is usual of one replica.
type usual struct {
	at     time.Time
	levels map[int]*habits
	// rate is the present one, nil where it is not known; rests says that there was
	// nothing to do for a whole window.
	rate  *rate
	rests bool
	slow  bool
}

// learn takes the present rate of a replica for a part of what is usual.
func (r *replica) learn() {
	u := &r.usual
	at := r.asked()
	took := at.Sub(u.at)
	u.at = at
	u.rate, u.rests = r.rate()
	if u.rate == nil || took <= 0 || took > windowLength {
		return
	}
	h := u.levels[u.rate.level]
	if h.known() || !u.slow {
		u.put(h, took)
	}
}

// put learns the present rate at its level.
func (u *usual) put(h *habits, took time.Duration) {
	if h == nil {
		h = &habits{}
		if u.levels == nil {
			u.levels = map[int]*habits{}
		}
		u.levels[u.rate.level] = h
	}
	h.learnt += took
	h.last = u.at
	over := min(h.learnt, habit)
	if u.slow {
		over = habit
	}
	part := took.Seconds() / over.Seconds()
	h.rate += (u.rate.perRequest - h.rate) * part
	h.all += (u.rate.all - h.all) * part
}

func (h *habits) known() bool { return h != nil && h.learnt >= learnFor }

// share is the present rate as a share of the usual one at its level. Requests that get
// slow pile up, to a level that the replica may never have had: there it has to do about
// as much in all as it did at a lower one, and not much less for each. nil is not known.
func (u *usual) share() *float64 {
	if h := u.levels[u.rate.level]; h.known() {
		s := u.rate.perRequest / h.rate
		return &s
	}
	for level := u.rate.level - 1; level >= 0; level-- {
		h := u.levels[level]
		if !h.known() || u.at.Sub(h.last) > habit {
			continue
		}
		each := h.rate * math.Pow(doubled, float64(u.rate.level-level))
		s := min(u.rate.all/h.all, u.rate.perRequest/each)
		return &s
	}
	return nil
}

// asked is when any endpoint of a replica was asked last.
func (r *replica) asked() (at time.Time) {
	for _, p := range r.Endpoints {
		if p.asked.After(at) {
			at = p.asked
		}
	}
	return at
}

// rate gives the present rate of all engines of a replica together. It rests when
// each of them has been without work for a whole window.
func (r *replica) rate() (now *rate, rests bool) {
	var all load
	var per Histogram
	rests = true
	for p, e := range r.engines() {
		l := e.window.load()
		all.tokens, all.requestSeconds = all.tokens+l.tokens, all.requestSeconds+l.requestSeconds
		all.worked = max(all.worked, l.worked)
		_, h := e.window.latencies()
		per = per.add(h)
		rests = rests && p.answer == Answered && e.window.rests()
	}
	if all.worked < leastLoad {
		return nil, rests
	}
	running := all.requestSeconds / all.worked.Seconds()
	now = &rate{level: min(maxLevel, int(math.Log2(max(1, running)))), perRequest: all.tokens / all.requestSeconds, all: all.tokens / all.worked.Seconds()}
	if all.tokens == 0 {
		half := per.quantile(0.5)
		if !positive(half) {
			return nil, rests
		}
		now.perRequest = 1 / *half
		now.all = running / *half
	}
	return now, rests
}

// pace compares a replica with its own past and with its peers.
func (w *Watch) pace(r *replica) Pace {
	u := &r.usual
	if u.rate == nil {
		if u.rests {
			u.slow = false
			return PaceUsual
		}
		return PaceUnknown
	}
	own := u.share()
	if own == nil {
		return PaceUnknown
	}
	share := w.cfg.Slow
	if u.slow {
		share *= nearUsual
	}
	u.slow = *own < share
	if theirs := w.peerRate(r); theirs != nil {
		u.slow = u.slow && u.rate.perRequest < share**theirs
	}
	if u.slow {
		return PaceSlow
	}
	return PaceUsual
}

// peerRate is the median of what a request gets from the other replicas of the same
// model that have about as much to do; nil where there is none.
func (w *Watch) peerRate(r *replica) *float64 {
	var rates []float64
	for _, o := range w.replicas {
		if o != r && o.usual.rate != nil && o.model() == r.model() && near(o.usual.rate.level, r.usual.rate.level) {
			rates = append(rates, o.usual.rate.perRequest)
		}
	}
	return median(rates)
}

// near says whether two levels are so near that rates can be compared.
func near(a, b int) bool { return max(a, b)-min(a, b) <= 1 }

// model is what a replica serves, by its first engine; empty is unknown.
func (r *replica) model() string {
	for _, e := range r.engines() {
		if e.last.Model != "" {
			return e.last.Model
		}
	}
	return ""
}

func median(of []float64) *float64 {
	if len(of) == 0 {
		return nil
	}
	slices.Sort(of)
	m := (of[len(of)/2] + of[(len(of)-1)/2]) / 2
	return &m
}
