package serving

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	// bodyLimit is how many bytes of an answer are read: an engine of many ranks
	// sends less than one MiB.
	bodyLimit = 8 << 20
	// lineLimit is how long a line may be, in bytes.
	lineLimit = 64 << 10
	// seriesLimit is how many lines are ours to read: each costs some hundred bytes.
	seriesLimit = 20000
)

// exposition is what an endpoint has said, as far as any dialect reads it.
type exposition struct {
	families map[string]*dto.MetricFamily
	// headers are metrics of which there is a TYPE, with samples or without.
	headers map[string]bool
}

// parse reads an answer. Most lines are nobody's: they do not reach the parser, whose
// cost would be the agent's largest, and an error in them is none of ours.
func (d *Dialects) parse(body io.Reader) (*exposition, error) {
	e := &exposition{headers: map[string]bool{}}
	ours, err := d.sift(body, e.headers)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	if e.families, err = parser.TextToMetricFamilies(ours); err != nil {
		return nil, err
	}
	return e, nil
}

// sift keeps the lines of the metrics that are wanted; of the others an empty line
// is left, so that an error names the right one.
func (d *Dialects) sift(body io.Reader, headers map[string]bool) (*bytes.Buffer, error) {
	limited := &io.LimitedReader{R: body, N: bodyLimit + 1}
	lines := bufio.NewReaderSize(limited, lineLimit)
	ours, series := &bytes.Buffer{}, 0
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("a line is longer than %d bytes", lineLimit)
		case limited.N == 0:
			return nil, fmt.Errorf("the answer is longer than %d bytes", bodyLimit)
		case errors.Is(err, io.EOF) && len(line) == 0:
			return ours, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("the answer ends in the middle of a line")
		case err != nil:
			return nil, err
		}
		name, header := nameIn(line)
		if !d.wanted[string(name)] {
			ours.WriteByte('\n')
			continue
		}
		if header {
			headers[string(name)] = true
		}
		if series++; series > seriesLimit {
			return nil, fmt.Errorf("more than %d series", seriesLimit)
		}
		ours.Write(line)
	}
}

var typeMark = []byte("# TYPE ")

// nameIn gives the metric that a line is a sample of, or the type of.
func nameIn(line []byte) (name []byte, header bool) {
	line = bytes.TrimLeft(line, " \t")
	line, header = bytes.CutPrefix(line, typeMark)
	if end := bytes.IndexAny(line, "{ \t\r\n"); end >= 0 {
		line = line[:end]
	}
	return line, header
}

// has says whether a metric is there, be it without a sample.
func (e *exposition) has(metric string) bool {
	return e.families[metric] != nil || e.headers[metric]
}

// series are those of a metric; count says that it is the number of a histogram's
// or a summary's observations that is meant.
func (e *exposition) series(metric string) (series []*dto.Metric, count bool) {
	if family := e.families[metric]; family != nil {
		return family.GetMetric(), false
	}
	whole, cut := strings.CutSuffix(metric, "_count")
	if !cut {
		return nil, false
	}
	return e.families[whole].GetMetric(), true
}

// valueOf is a series' value, and whether it is one: a number, and not below zero.
func valueOf(series *dto.Metric, count bool) (v float64, ok bool) {
	switch {
	case count && series.Histogram != nil:
		v = max(float64(series.GetHistogram().GetSampleCount()), series.GetHistogram().GetSampleCountFloat())
	case count && series.Summary != nil:
		v = float64(series.GetSummary().GetSampleCount())
	case !count && series.Gauge != nil:
		v = series.GetGauge().GetValue()
	case !count && series.Counter != nil:
		v = series.GetCounter().GetValue()
	case !count && series.Untyped != nil:
		v = series.GetUntyped().GetValue()
	default:
		return 0, false
	}
	return v, v >= 0 && !math.IsInf(v, 0) // NaN is not >= 0
}

func labelOf(series *dto.Metric, name string) string {
	for _, pair := range series.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

func (t term) fits(series *dto.Metric) bool {
	for _, want := range t.labels {
		if labelOf(series, want.name) != want.value {
			return false
		}
	}
	return true
}
