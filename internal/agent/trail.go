package agent

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// What of the kernel log belongs into a bundle: so many records before and after
// each line of the driver's on the incident's GPUs; in a flood, so many lines at
// once, and then one now and then.
const (
	linesBefore = 32
	linesAfter  = 32
	lineBurst   = 256
	lineEvery   = 10 * time.Second
)

// The pauses between two samples after the opening, each twice the one before.
const (
	firstSample = 5 * time.Second
	lastSample  = 10 * time.Minute
)

// trail is how far the bundle of an open incident is.
type trail struct {
	// devices are all that a line about the incident may name, gpus those that are
	// sampled; none is all of them.
	devices, gpus []fault.Device
	// from and until are the places in the kernel log that are still to be put
	// down, as far as they have come.
	from, until uint64
	limit       *rate.Limiter
	left        uint64 // lines that were left out
	sampled     time.Time
	next        time.Time // when the next sample is due
	pause       time.Duration
	progress    evidence.Progress
	events      map[string]string // the message by key
	replacement evidence.Replacement
}

func newTrail() *trail {
	return &trail{limit: rate.NewLimiter(rate.Every(lineEvery), lineBurst), events: map[string]string{}}
}

// about takes in what a verdict is about.
func (t *trail) about(v fault.Verdict) {
	t.gpus = slices.Concat(v.GPUs, v.Victims)
	t.devices = slices.Concat(t.gpus, v.Affected)
}

// around asks for the lines around a place.
func (t *trail) around(place uint64) {
	if t.from == t.until { // nothing is owed, and what lies between is nobody's
		t.from = max(t.from, place-min(place, linesBefore))
	}
	t.until = max(t.until, place+1+linesAfter)
}

// lines gives those that were asked for and are there.
func (t *trail) lines(now time.Time, ring *evidence.Ring) []evidence.Piece {
	to := min(t.until, ring.Next())
	if to <= t.from {
		return nil
	}
	pieces := ring.Lines(t.from, to, int(max(0, t.limit.TokensAt(now))))
	t.limit.AllowN(now, len(pieces))
	t.left += to - t.from - uint64(len(pieces))
	t.from = to
	return pieces
}

// skipped says how many lines were left out, nil where none was.
func (t *trail) skipped() *evidence.Missing {
	if t.left == 0 {
		return nil
	}
	return &evidence.Missing{Pieces: int(t.left),
		Why: fmt.Sprintf("a flood: of the kernel log %d lines are kept at once, and one in %s after them", lineBurst, lineEvery)}
}

// sampleDue says whether a poll at that time is to be put down.
func (t *trail) sampleDue(now time.Time) bool {
	if now.Before(t.next) {
		return false
	}
	t.pause = min(max(2*t.pause, firstSample), lastSample)
	t.next = now.Add(t.pause)
	return true
}

// sample is a poll's part on the incident's GPUs.
func (t *trail) sample(p evidence.Piece) evidence.Piece {
	t.sampled = p.At
	if len(t.gpus) == 0 {
		return p
	}
	s := evidence.Sample{Trouble: p.Sample.Trouble}
	for _, g := range p.Sample.GPUs {
		if slices.ContainsFunc(t.gpus, func(d fault.Device) bool { return is(g, d) }) {
			s.GPUs = append(s.GPUs, g)
		}
	}
	p.Sample = &s
	return p
}

func is(g nvml.GPU, d fault.Device) bool {
	return d.UUID != "" && g.UUID == d.UUID || g.UUID != "" && g.PCI == d.PCI
}

// moves says whether progress is news.
func (t *trail) moves(p evidence.Progress) bool {
	news := !reflect.DeepEqual(p, t.progress)
	t.progress = p
	return news
}

// tells says whether an event is about the incident, and news.
func (t *trail) tells(id string, e remediate.Event) bool {
	if !strings.HasPrefix(e.Key, id+"/") || t.events[e.Key] == e.Message {
		return false
	}
	t.events[e.Key] = e.Message
	return true
}

// replaces says whether a record for a replacement is news.
func (t *trail) replaces(r evidence.Replacement) bool {
	news := !reflect.DeepEqual(r, t.replacement)
	t.replacement = r
	return news
}
