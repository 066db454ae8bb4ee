package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// Bounds of what is kept of an answer: words of a child that may be ill.
const (
	maxText    = 1 << 10
	maxErrors  = 64   // of one result
	maxResults = 512  // of one test: DCGM knows 32 GPUs and as many CPUs
	maxTests   = 1024 // of one answer, over all iterations
	maxStarts  = 16   // places where the JSON may begin
)

// Read reads what "dcgmi diag -j" wrote to its standard output, in the JSON of
// DCGM 3 or 4, and its exit status (-1: a signal). It never fails: what cannot be
// read is said in the report, and nothing is taken from it.
func Read(out []byte, exit int) Report {
	r := Report{Exit: exit}
	at, whole, err := find(out)
	r.Said = text(string(out[:at]))
	if err != nil {
		r.Broken = err.Error()
		return r
	}
	iterations := whole.Iterations
	if iterations == nil {
		iterations = []answer{whole}
	}
	room := maxTests
	for _, one := range iterations {
		r.add(one, &room)
	}
	return r
}

// find gives the JSON object of an answer and where it begins. Text may stand
// before it, braces and all, and behind it.
func find(out []byte) (at int, a answer, err error) {
	broken := -1 // where it begins that cannot be read
	for range maxStarts {
		i := bytes.IndexByte(out[at:], '{')
		if i < 0 {
			break
		}
		at += i
		a = answer{}
		err := json.NewDecoder(bytes.NewReader(out[at:])).Decode(&a)
		if err == nil && a.known() {
			return at, a, nil
		}
		if broken < 0 && (err != nil && heads(out, at) || bytes.Contains(out[at:], []byte(`"DCGM `))) {
			broken = at
		}
		at++
	}
	if broken >= 0 {
		return broken, a, fmt.Errorf("its JSON is cut off or damaged after %d bytes", len(out)-broken)
	}
	return len(out), a, fmt.Errorf("it has no JSON in %d bytes", len(out))
}

// heads tells whether nothing stands before a place in its line.
func heads(out []byte, at int) bool {
	line := out[bytes.LastIndexByte(out[:at], '\n')+1 : at]
	return len(bytes.TrimSpace(line)) == 0
}

// add takes one iteration into the report, with no more tests than there is room.
func (r *Report) add(a answer, room *int) {
	body := a.body()
	r.Version = first(loose(r.Version), a.Metadata.Version, a.Version, body.Version)
	r.Driver = first(loose(r.Driver), a.Metadata.Driver, a.Driver, body.Driver)
	r.Runtime = first(loose(r.Runtime), body.Runtime)
	if len(body.Categories) == 0 {
		return
	}
	var run Run
	for _, c := range body.Categories {
		for _, t := range c.Tests {
			if *room--; *room < 0 {
				r.Runtime = first(loose(r.Runtime), "the answer has more tests than are read")
				break
			}
			run.Tests = append(run.Tests, t.read(c.Name))
		}
	}
	r.Runs = append(r.Runs, run)
}

// first gives the first text that is not empty, bounded.
func first(texts ...loose) string {
	for _, t := range texts {
		if t != "" {
			return text(string(t))
		}
	}
	return ""
}

// text makes one line of what a child wrote, printable and bounded.
func text(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c):
			return '?'
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}
