package pods

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// DefaultCeiling is how long an engine may go on with what it runs, unless a site says
// otherwise.
const DefaultCeiling = 30 * time.Second

// Load is what the engines of a pod have to do, by the last that all of them have said.
// A nil pointer is unknown, which is never nothing; so is all of it before they were
// asked.
type Load struct {
	Running, Waiting *float64
	At               time.Time
}

// idle says whether the engines have nothing to do. Not every engine tells how many
// requests wait; all tell how many run.
func (l Load) idle() bool {
	return l.Running != nil && *l.Running == 0 && (l.Waiting == nil || *l.Waiting == 0)
}

// wait is how far the wait for a pod's engine is.
type wait struct {
	uid types.UID
	// why it is over; empty while it is not.
	why string
	// load is the last that was seen; serves says that there may be an engine.
	load   Load
	serves bool
	// idle is when the engine first had nothing to do; zero while it has.
	idle time.Time
}

// over says whether the pod need not be waited for any more. That stays so.
func (w *wait) over() bool { return w.why != "" }

// ripe looks whether a pod need not be waited for any more. Its engine has to have
// nothing to do by two readings in a row that were taken once the pod was out of
// rotation: whoever sends requests hears of that a moment later.
func (d *drain) ripe(r *removal) bool {
	if r.over() {
		return true
	}
	if d.options.Serving != nil {
		r.load, r.serves = d.options.Serving(r.uid)
	}
	switch {
	case !r.serves:
		r.why = "no engine is known"
	case time.Since(r.since) >= d.ceiling:
		r.why = "it has had its time"
	case r.out.IsZero() || !r.load.At.After(r.out):
	case !r.load.idle():
		r.idle = time.Time{}
	case r.idle.IsZero():
		r.idle = r.load.At
	case r.load.At.After(r.idle):
		r.why = "it runs nothing"
	}
	return r.over()
}

// seen is what the record says of the engine.
func (r *removal) seen() []any {
	all := []any{"known", r.serves, "waited", time.Since(r.since).Round(time.Millisecond).String(), "until", r.why}
	if r.serves {
		all = append(all, "running", told(r.load.Running), "waiting", told(r.load.Waiting), "at", r.load.At)
	}
	return all
}

func told(n *float64) any {
	if n == nil {
		return "unknown"
	}
	return *n
}

// rest waits for the next look, or until an engine that is waited for has nothing more
// to do.
func (d *drain) rest(ctx context.Context, pause time.Duration) (early bool, err error) {
	until := time.Now().Add(pause)
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(min(firstPause, time.Until(until))):
		}
		for _, r := range d.removals {
			early = early || !r.over() && !r.since.IsZero() && d.ripe(r)
		}
		if early || !time.Now().Before(until) {
			return early, nil
		}
	}
}
