package fault

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// links is what the judge knows of a GPU's NVLinks. Exported fields are its saved
// form.
type links struct {
	// Was has a bit for each link that was up once: a peer is expected there.
	Was uint64 `json:",omitempty"`
	// Domain says that the GPU was in an NVLink domain once.
	Domain bool `json:",omitempty"`
	// Expected is how many links should be up, by the last reading.
	Expected int    `json:",omitempty"`
	Trends   trends `json:",omitempty"`

	// state and fabric tell what lasts from what is on its way. They begin anew
	// with the agent, which then gives them their time.
	state, fabric nvlink.Settling
	// last is the last reading, nil before the first; down are its links that
	// should be up.
	last *nvlink.Reading
	down []nvlink.Wire
}

// trends are those of a GPU's links by number.
type trends map[int]*nvlink.Trend

// MarshalJSON saves those that have something to tell: most links never err.
func (t trends) MarshalJSON() ([]byte, error) {
	told := map[int]*nvlink.Trend{}
	for link, trend := range t {
		if !trend.Quiet() {
			told[link] = trend
		}
	}
	return json.Marshal(told)
}

// retrain says that the links are made to train anew.
func (l *links) retrain(now time.Time) {
	l.state.Restart(now)
	l.fabric.Restart(now)
}

// read takes in a reading. Common are the links that most GPUs of the node have
// up: a GPU without them lacks them, even if they were never seen up.
// It says whether the links have begun anew.
func (l *links) read(now time.Time, r *nvlink.Reading, common uint64) (anew bool) {
	if anew = l.restarted(r); anew {
		l.retrain(now)
	}
	l.last, l.down, l.Expected = r, nil, 0
	for _, link := range r.Links {
		bit := uint64(1) << link.Index
		if link.State.Up() {
			l.Was |= bit
		}
		if (l.Was|common)&bit == 0 {
			continue
		}
		l.Expected++
		if link.State.Down() {
			l.down = append(l.down, nvlink.Wire{Link: link.Index, State: link.State, To: nvlink.End{Kind: link.Remote, Address: link.Peer}})
		}
	}
	l.Domain = l.Domain || r.Fabric != nil && r.Fabric.Domain() != ""
	return anew
}

// restarted says whether a link's counters or the registration began anew: the
// GPU was reset, or the driver was loaded.
func (l *links) restarted(r *nvlink.Reading) bool {
	if l.last != nil && completed(l.last.Fabric) && r.Fabric != nil && !completed(r.Fabric) {
		return true // it registers anew
	}
	return slices.ContainsFunc(r.Links, func(link nvlink.Link) bool {
		t := l.Trends[link.Index]
		return t != nil && link.Recoveries != nil && *link.Recoveries < t.Last
	})
}

func completed(f *nvlink.Fabric) bool { return f != nil && f.State == nvlink.FabricCompleted }

// follow takes the counters into the trends, and says of which links that is worth a
// warning, in coarse words and in exact ones.
func (l *links) follow(now time.Time, limits nvlink.Limits) (warned, exact []string) {
	if l.Trends == nil {
		l.Trends = trends{}
	}
	for _, link := range l.last.Links {
		t := l.Trends[link.Index]
		if t == nil {
			t = &nvlink.Trend{}
			l.Trends[link.Index] = t
		}
		t.Add(now, link.Counters, !l.state.Training(now))
		if coarse, why := t.Warning(now, limits); why != "" {
			warned = append(warned, fmt.Sprintf("link %d: %s", link.Index, coarse))
			exact = append(exact, fmt.Sprintf("link %d: %s", link.Index, why))
		}
	}
	return warned, exact
}

// goodFor is how long what a class of fault is about has been good.
func (l *links) goodFor(now time.Time, c Class) time.Duration {
	if c == FabricUnhealthy {
		return l.fabric.GoodFor(now)
	}
	return l.state.GoodFor(now)
}

// downText names the links that are down.
func downText(down []nvlink.Wire) string {
	var numbers []int
	for _, w := range down {
		numbers = append(numbers, w.Link)
	}
	word := "link "
	if len(numbers) > 1 {
		word = "links "
	}
	return word + nvlink.Numbers(numbers)
}

// firstOf gives the first few of what is said of links, and counts the others.
func firstOf(warned []string) []string {
	n := min(len(warned), evidenceLines)
	if more := len(warned) - n; more > 0 {
		return append(slices.Clone(warned[:n]), fmt.Sprintf("and %d links more", more))
	}
	return warned
}

// LinkState is how the node's NVLinks are as a whole, by the last reading.
type LinkState uint8

// The states.
const (
	// LinksUnknown: not asked yet, or not told.
	LinksUnknown LinkState = iota
	// LinksNone: no GPU has any.
	LinksNone
	// LinksSettling: some are not up, or not registered, and are given their time.
	LinksSettling
	// LinksGood: all that should be up are.
	LinksGood
)

// Links says how the NVLinks are, as far as no open episode says otherwise. It is
// remembered over a restart until the next reading.
func (j *Judge) Links() LinkState { return j.links }

// sumLinks sums the GPUs up.
func (j *Judge) sumLinks() LinkState {
	state, any, told := LinksGood, false, false
	for _, d := range j.devices {
		if d.State == nil || d.State.Lost {
			continue // another fault's
		}
		l := &d.Links
		if l.last == nil || l.last.Links == nil {
			return LinksUnknown
		}
		told = true
		any = any || len(l.last.Links) > 0
		if l.state.Reads > 0 || l.fabric.Reads > 0 {
			state = LinksSettling
		}
	}
	switch {
	case !told:
		return LinksUnknown
	case !any:
		return LinksNone
	}
	return state
}
