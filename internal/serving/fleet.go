package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/remediate/prometheus"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// kindsLimit is for how many kinds of replicas the fleet is asked, twice each; a node
	// serves a few models.
	kindsLimit = 16
	// modelLimit is the longest name of a model that is asked for, in bytes.
	modelLimit = 200
)

// kind is what replicas of the fleet are compared by: a model, as one kind of engine
// tells it.
type kind struct{ dialect, model string }

// Fleet asks the site's Prometheus for the latencies of all replicas of the models that
// this node serves: the median of their 95th percentiles. Of whom nobody works, or whose
// engine does not tell its model, it is not known. An error says why something else is
// not; what is known is given beside it.
func (s *Serving) Fleet(ctx context.Context) (serving.Fleet, error) {
	fleet, failed := serving.Fleet{}, []error(nil)
	ask := func(expression string) *float64 {
		if expression == "" {
			return nil
		}
		v, err := s.options.Prometheus.Value(ctx, expression)
		if err != nil {
			if !errors.Is(err, prometheus.ErrNothing) {
				failed = append(failed, err)
			}
			return nil
		}
		return &v
	}
	for _, k := range s.kinds() {
		label, first, per := s.options.Dialects.Latencies(k.dialect)
		if label == "" {
			continue
		}
		l := fleet[k.model] // two kinds of engines may serve it
		l.FirstToken = cmp.Or(l.FirstToken, ask(medianOf(first, label, k.model)))
		l.PerToken = cmp.Or(l.PerToken, ask(medianOf(per, label, k.model)))
		fleet[k.model] = l
		if len(failed) > 0 {
			break // the next would wait as long
		}
	}
	return fleet, errors.Join(failed...)
}

// kinds are those of the replicas here, sorted.
func (s *Serving) kinds() (kinds []kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scrape := range s.last {
		for _, r := range scrape.Engines {
			if r.Model != "" && len(r.Model) <= modelLimit {
				kinds = append(kinds, kind{scrape.Dialect, r.Model})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b kind) int { return cmp.Or(cmp.Compare(a.dialect, b.dialect), cmp.Compare(a.model, b.model)) })
	kinds = slices.Compact(kinds)
	return kinds[:min(len(kinds), kindsLimit)]
}

// medianOf is the expression for the median of a model's replicas, by the first of some
// histograms that there is; empty where there is none. A replica without work has no
// percentile, and is left out. Five minutes are enough whatever the period of the
// server's scrapes is.
func medianOf(histograms []string, label, model string) string {
	var alternatives []string
	for _, h := range histograms {
		alternatives = append(alternatives, fmt.Sprintf(
			"quantile(0.5, histogram_quantile(0.95, sum by (instance, le) (rate(%s_bucket{%s=%s}[5m]))) >= 0)", h, label, strconv.Quote(model)))
	}
	return strings.Join(alternatives, " or ")
}
