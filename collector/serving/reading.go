package serving

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// startMetric is what the client libraries of Prometheus call a process's start, in
	// seconds since 1970.
	startMetric = "process_start_time_seconds"
	// startLimit is a start, in those seconds, that no process has: in the year 5138.
	startLimit = 1e11
	// engineLimit is how many engines one endpoint may speak for.
	engineLimit = 256
)

// said is what an endpoint has said.
type said struct {
	dialect string // empty: of no engine that is known
	started time.Time
	engines []serving.Reading
}

// read reads an endpoint's answer, in a dialect, or in the one that it turns out to
// be. An error is an answer that is no metrics.
func (d *Dialects) read(body io.Reader, dialect string) (said, error) {
	e, err := d.parse(body)
	if err != nil {
		return said{}, err
	}
	one := d.find(dialect)
	if one == nil {
		one = d.recognise(e)
	}
	if one == nil {
		return said{}, nil
	}
	s := said{dialect: one.Name, started: started(e), engines: one.readings(e)}
	if len(s.engines) > engineLimit {
		return said{}, fmt.Errorf("more than %d engines", engineLimit)
	}
	return s, nil
}

// recognise finds the first dialect of which a metric is there.
func (d *Dialects) recognise(e *exposition) *dialect {
	i := slices.IndexFunc(d.all, func(one *dialect) bool { return slices.ContainsFunc(one.Known, e.has) })
	if i < 0 {
		return nil
	}
	return d.all[i]
}

// started is when the youngest process behind the endpoint began.
func started(e *exposition) (at time.Time) {
	series, count := e.series(startMetric)
	for _, s := range series {
		if v, ok := valueOf(s, count); ok && v > 0 && v < startLimit {
			if began := time.UnixMilli(int64(v * 1000)); began.After(at) {
				at = began
			}
		}
	}
	return at
}

// readings are what each engine says, sorted by name. There is always one.
func (d *dialect) readings(e *exposition) []serving.Reading {
	running, waiting, deferred := d.first(d.running, e), d.first(d.waiting, e), d.first(d.deferred, e)
	progress, tokens, finished := d.first(d.progress, e), d.first(d.tokens, e), d.first(d.finished, e)
	paused := d.paused.holds(d, e)
	firstToken, perToken := d.latencies(d.FirstToken, e), d.latencies(d.PerToken, e)

	engines := map[string]bool{}
	for _, values := range []byEngine{running, waiting, progress, tokens, finished} {
		addKeys(engines, values)
	}
	for _, histograms := range []map[string]*serving.Histogram{firstToken, perToken} {
		addKeys(engines, histograms)
	}
	if len(engines) == 0 {
		engines[""] = true
	}
	models := d.models(e)
	var all []serving.Reading
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		all = append(all, serving.Reading{
			Engine: name, Model: models[name],
			Lag:     d.Lag,
			Running: running[name].known(), Waiting: waiting[name].known(), Deferred: deferred[name].known(),
			Progress: progress[name].known(), Tokens: tokens[name].known(), Finished: finished[name].known(),
			Paused: paused[name], FirstToken: firstToken[name], PerToken: perToken[name],
		})
	}
	return all
}

func addKeys[V any](all map[string]bool, some map[string]V) {
	for key := range some {
		all[key] = true
	}
}

// models are the names of the models, by engine: the first in the alphabet where an
// engine has several.
func (d *dialect) models(e *exposition) map[string]string {
	models := map[string]string{}
	if d.Model == "" {
		return models
	}
	for _, x := range slices.Concat(d.running, d.waiting, d.finished) {
		for _, t := range x {
			series, _ := e.series(t.metric)
			for _, s := range series {
				engine, name := labelOf(s, d.Engine), labelOf(s, d.Model)
				if name != "" && (models[engine] == "" || name < models[engine]) {
					models[engine] = name
				}
			}
		}
	}
	return models
}
