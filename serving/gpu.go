package serving

import "time"

// settled is how many polls in a row must show the same of a GPU: between two
// kernels even a busy one may look idle for a moment.
const settled = 2

// gpu follows one GPU from poll to poll.
type gpu struct {
	at    time.Time
	doing Doing
	// idle and working count polls in a row.
	idle, working int
	// wedged is since when each poll has shown it wedged, zero for not.
	wedged time.Time
}

// poll takes in one poll.
func (g *gpu) poll(a Activity) {
	if !a.At.After(g.at) {
		return
	}
	g.at, g.doing = a.At, a.Doing()
	switch g.doing {
	case Quiet, Wedged:
		g.idle, g.working = g.idle+1, 0
	case Working:
		g.idle, g.working = 0, g.working+1
	case Unknown:
		g.idle, g.working = 0, 0
	}
	switch {
	case g.doing != Wedged:
		g.wedged = time.Time{}
	case g.wedged.IsZero():
		g.wedged = a.At
	}
}

// side is what the GPUs of a replica say together.
type side uint8

const (
	// sideUnknown: too few of them tell.
	sideUnknown side = iota
	// sideMixed: they tell, and are neither for sure.
	sideMixed
	sideIdle
	sideWorking
)

// side judges the GPUs of a replica of which only some engines go on: nobody knows
// which engine has which. Those that are left once each engine that goes on has its
// share have to be idle.
func (w *Watch) side(now time.Time, gpus []string, engines, goOn int) side {
	if len(gpus) == 0 || engines == 0 {
		return sideUnknown
	}
	need := max(1, len(gpus)*(engines-goOn)/engines)
	idle, working, unknown := 0, 0, 0
	for _, uuid := range gpus {
		switch g := w.gpus[uuid]; {
		case g == nil || w.old(now, g) || g.doing == Unknown:
			unknown++
		case g.idle >= settled:
			idle++
		case g.working >= settled && w.shared[uuid]:
			unknown++ // for whom, nobody knows
		case g.working >= settled:
			working++
		}
	}
	switch {
	case idle >= need:
		return sideIdle
	case working > len(gpus)-need:
		return sideWorking
	case idle+unknown >= need:
		return sideUnknown
	}
	return sideMixed
}

// old says whether a GPU's last poll is too long ago to say anything.
func (w *Watch) old(now time.Time, g *gpu) bool { return now.Sub(g.at) > stalePeriods*w.cfg.Poll }

// wedgedFor says for how long all of some GPUs have been wedged, zero for not.
func (w *Watch) wedgedFor(now time.Time, gpus []string) time.Duration {
	least := time.Duration(-1)
	for _, uuid := range gpus {
		g := w.gpus[uuid]
		if g == nil || w.old(now, g) || g.wedged.IsZero() {
			return 0
		}
		if d := now.Sub(g.wedged); least < 0 || d < least {
			least = d
		}
	}
	return max(0, least)
}

// doing says in a word what the GPUs of a replica did at their last polls.
func (w *Watch) doing(gpus []string) string {
	wedged := 0
	for _, uuid := range gpus {
		if g := w.gpus[uuid]; g != nil && g.doing == Wedged {
			wedged++
		}
	}
	if 2*wedged > len(gpus) {
		return "its GPUs are busy and compute nothing"
	}
	return "its GPUs are quiet"
}
