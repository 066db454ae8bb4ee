package serving

import (
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// value is what an engine says of one thing; bad where a part of it is no number.
type value struct {
	sum float64
	bad bool
}

func (v *value) add(x float64, ok bool) {
	v.sum += x
	v.bad = v.bad || !ok
}

// known gives a pointer, nil for what is not known.
func (v *value) known() *float64 {
	if v == nil || v.bad || math.IsInf(v.sum, 0) {
		return nil
	}
	return &v.sum
}

// byEngine are values by the label that tells engines apart.
type byEngine map[string]*value

// first evaluates the alternatives in turn until one has samples.
func (d *dialect) first(alternatives []expression, e *exposition) byEngine {
	for _, x := range alternatives {
		if values := d.sum(x, e); len(values) > 0 {
			return values
		}
	}
	return nil
}

// sum adds up the series of an expression, for each engine.
func (d *dialect) sum(x expression, e *exposition) byEngine {
	values := byEngine{}
	for _, t := range x {
		series, count := e.series(t.metric)
		series = slices.DeleteFunc(slices.Clone(series), func(s *dto.Metric) bool { return !t.fits(s) })
		for _, group := range d.alike(series) {
			engine := labelOf(group[0], d.Engine)
			if values[engine] == nil {
				values[engine] = &value{}
			}
			values[engine].add(largest(group, count))
		}
	}
	return values
}

// largest is the largest value of series that say the same thing.
func largest(group []*dto.Metric, count bool) (v float64, ok bool) {
	ok = true
	for _, series := range group {
		x, good := valueOf(series, count)
		v, ok = max(v, x), ok && good
	}
	return v, ok
}

// alike puts series together that differ in nothing but the ranks that repeat.
func (d *dialect) alike(series []*dto.Metric) (groups [][]*dto.Metric) {
	if len(d.Repeats) == 0 {
		for _, s := range series {
			groups = append(groups, []*dto.Metric{s})
		}
		return groups
	}
	at := map[string]int{}
	for _, s := range series {
		key := d.identity(s)
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], s)
	}
	return groups
}

// identity is a series' labels without those that repeat.
func (d *dialect) identity(series *dto.Metric) string {
	var labels []string
	for _, pair := range series.GetLabel() {
		if !slices.Contains(d.Repeats, pair.GetName()) {
			labels = append(labels, pair.GetName()+"\x00"+pair.GetValue())
		}
	}
	slices.Sort(labels)
	return strings.Join(labels, "\x00")
}

// holds says of each engine whether a condition is true; nil is unknown.
func (c *condition) holds(d *dialect, e *exposition) map[string]*bool {
	if c == nil {
		return nil
	}
	holds := map[string]*bool{}
	for engine, v := range d.sum(c.sum, e) {
		if !v.bad {
			is := v.sum == c.equals
			holds[engine] = &is
		}
	}
	return holds
}

// latencies are the histograms of the first metric that has any, for each engine.
func (d *dialect) latencies(metrics []string, e *exposition) map[string]*serving.Histogram {
	for _, metric := range metrics {
		found := map[string][]*dto.Metric{}
		for _, group := range d.alike(e.families[metric].GetMetric()) {
			engine := labelOf(group[0], d.Engine)
			found[engine] = append(found[engine], group[0])
		}
		if len(found) == 0 {
			continue
		}
		histograms := map[string]*serving.Histogram{}
		for engine, series := range found {
			histograms[engine] = addUp(series)
		}
		return histograms
	}
	return nil
}
