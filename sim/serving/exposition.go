package serving

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// metrics tells of the engine as one of its kind does.
func (e *Engine) metrics(w http.ResponseWriter, r *http.Request) {
	q := &request{ctx: r.Context()}
	if !e.await(q, func() bool { return !e.faults.hanging }) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	x := exposition{w: w, model: e.options.Model, bare: e.options.Bare, typed: map[string]bool{}}
	e.mu.Lock()
	defer e.mu.Unlock()
	for n, rank := range e.life.ranks {
		tell(e.options.Kind, &x, says{rank: rank, number: n, awake: !e.faults.asleep})
	}
	x.sample("process_start_time_seconds", "gauge", "", float64(e.life.began.UnixMilli())/1000)
}

// exposition writes metrics in the text format.
type exposition struct {
	w     io.Writer
	model string
	bare  bool
	typed map[string]bool
}

// sample writes one, and its type before the first. Labels are as in braces.
func (x *exposition) sample(name, kind, labels string, v float64) {
	x.head(name, kind)
	x.line(name, labels, v)
}

func (x *exposition) head(name, kind string) {
	if !x.typed[name] {
		x.typed[name] = true
		fmt.Fprintf(x.w, "# HELP %s Of a simulated engine.\n# TYPE %s %s\n", name, name, kind)
	}
}

func (x *exposition) line(name, labels string, v float64) {
	if x.bare {
		return
	}
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(x.w, "%s%s %s\n", name, labels, strconv.FormatFloat(v, 'g', -1, 64))
}

// histogram writes one with all its buckets.
func (x *exposition) histogram(name, labels string, h histogram) {
	x.head(name, "histogram")
	for i, bound := range bounds {
		x.line(name+"_bucket", join(labels, fmt.Sprintf(`le="%g"`, bound)), float64(h.counts[i]))
	}
	x.line(name+"_bucket", join(labels, `le="+Inf"`), float64(h.count))
	x.line(name+"_count", labels, float64(h.count))
	x.line(name+"_sum", labels, h.sum)
}

func join(labels ...string) string {
	var some []string
	for _, l := range labels {
		if l != "" {
			some = append(some, l)
		}
	}
	return strings.Join(some, ",")
}
