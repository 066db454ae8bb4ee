package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

// samples tells what the GPUs said last before the incident opened, and last of
// all, where that differs.
func samples(out io.Writer, b evidence.Bundle, s evidence.Summary, style replay.Style) {
	before, after := around(b, s.Opened)
	for _, uuid := range slices.Sorted(maps.Keys(after)) {
		was, is := before[uuid], after[uuid]
		if was.gpu.NVLink == nil || is.gpu.NVLink == nil { // not asked, which is no difference
			was.gpu.NVLink, is.gpu.NVLink = nil, nil
		}
		fmt.Fprintf(out, "\n%s\n", style.Strong(fmt.Sprintf("%s, before (%s) and after (%s)", replay.Printable(uuid), moment(was.at), moment(is.at))))
		tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		have, had := flat(is.gpu), flat(was.gpu)
		changed := 0
		for _, key := range union(had, have) {
			if had[key] != have[key] {
				fmt.Fprintf(tw, "  %s\t%s\t→ %s\n", replay.Printable(key), valueOf(had, key), valueOf(have, key))
				changed++
			}
		}
		_ = tw.Flush() // the buffer below it reports
		if changed == 0 {
			fmt.Fprintln(out, "  no value differs")
		}
	}
}

// seen is what one GPU said, and when; zero for never.
type seen struct {
	gpu nvml.GPU
	at  time.Time
}

// around gives the last answers before a moment, and the last of all that are
// later, by UUID.
func around(b evidence.Bundle, opened time.Time) (before, after map[string]seen) {
	before, after = map[string]seen{}, map[string]seen{}
	for _, p := range b.Of(evidence.KindSample) {
		for _, g := range p.Sample.GPUs {
			into := after
			if p.At.Before(opened) {
				into = before
			}
			if g.NVLink == nil { // only slow polls ask
				g.NVLink = into[g.UUID].gpu.NVLink
			}
			if g.UUID != "" {
				into[g.UUID] = seen{g, p.At}
			}
		}
	}
	return before, after
}

func moment(at time.Time) string {
	if at.IsZero() {
		return "never asked"
	}
	return at.UTC().Format(time.RFC3339)
}

// flat gives a GPU's values by their path, as JSON has them.
func flat(g nvml.GPU) map[string]string {
	values := map[string]string{}
	text, err := json.Marshal(g)
	var tree map[string]any
	if g.UUID == "" || err != nil || json.Unmarshal(text, &tree) != nil {
		return values
	}
	flatten("", tree, values)
	return values
}

func flatten(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if path != "" {
				key = path + "." + key
			}
			flatten(key, value, into)
		}
	case []any:
		for i, value := range v {
			flatten(path+"."+strconv.Itoa(i), value, into)
		}
	default:
		text, err := json.Marshal(v)
		if err == nil { // it was read from JSON
			into[path] = string(text)
		}
	}
}

func union(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func valueOf(values map[string]string, key string) string {
	if v, ok := values[key]; ok {
		return replay.Printable(v)
	}
	return "not told"
}
