package node

import (
	"fmt"
	"slices"
	"strings"
)

// conf is a control file as lines, so that an operator's comments and edits
// outlive ours.
type conf struct {
	lines []string
}

// The sections that are no GPU's.
const (
	nodeSection = -1 // what stands above "[gpu *]"
	everyGPU    = -2 // "[gpu *]": what a GPU has that its own section does not name
)

func parseConf(text []byte) conf {
	return conf{lines: strings.Split(strings.TrimRight(string(text), "\n"), "\n")}
}

func (c conf) bytes() []byte { return []byte(strings.Join(c.lines, "\n") + "\n") }

// section gives the lines [from, to) of a GPU or of the node, without the header.
func (c conf) section(gpu int) (from, to int) {
	header := fmt.Sprintf("[gpu %d]", gpu)
	if gpu == everyGPU {
		header = "[gpu *]"
	}
	if gpu != nodeSection {
		from = 1 + slices.IndexFunc(c.lines, func(l string) bool { return strings.TrimSpace(l) == header })
		if from == 0 {
			return len(c.lines), len(c.lines)
		}
	}
	for to = from; to < len(c.lines); to++ {
		if strings.HasPrefix(strings.TrimSpace(c.lines[to]), "[") {
			break
		}
	}
	return from, to
}

// count is the number of GPUs.
func (c conf) count() int {
	n := 0
	for _, line := range c.lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[gpu ") && line != "[gpu *]" {
			n++
		}
	}
	return n
}

// find gives the line of a key, or -1.
func (c conf) find(gpu int, key string) int {
	from, to := c.section(gpu)
	for i := from; i < to; i++ {
		if k, _, ok := cutLine(c.lines[i]); ok && k == key {
			return i
		}
	}
	return -1
}

// get gives a value, "" where the key is not set.
func (c conf) get(gpu int, key string) string {
	i := c.find(gpu, key)
	if i < 0 && gpu >= 0 {
		i = c.find(everyGPU, key)
	}
	if i < 0 {
		return ""
	}
	_, value, _ := cutLine(c.lines[i])
	return value
}

// set writes a value over the old one, or behind the section's last line.
func (c *conf) set(gpu int, key, value string) {
	line := key + " = " + value
	if i := c.find(gpu, key); i >= 0 {
		c.lines[i] = line
		return
	}
	from, to := c.section(gpu)
	for to > from && strings.TrimSpace(c.lines[to-1]) == "" {
		to--
	}
	c.lines = slices.Insert(c.lines, to, line)
}

// put sets a value, or takes an empty one out.
func (c *conf) put(gpu int, key, value string) {
	if value != "" {
		c.set(gpu, key, value)
		return
	}
	c.remove(gpu, func(k string) bool { return k == key })
}

// bare is the sections of as many GPUs, with nothing in them.
func (c conf) bare() string {
	var b strings.Builder
	for i := range c.count() {
		fmt.Fprintf(&b, "\n[gpu %d]\n", i)
	}
	return b.String()
}

// remove takes out the section's lines whose key matches.
func (c *conf) remove(gpu int, match func(key string) bool) {
	from, to := c.section(gpu)
	for i := to - 1; i >= from; i-- {
		if k, _, ok := cutLine(c.lines[i]); ok && match(k) {
			c.lines = slices.Delete(c.lines, i, i+1)
		}
	}
}

func isCallFault(key string) bool {
	return strings.HasPrefix(key, "hang.") || strings.HasPrefix(key, "fail.")
}

// keys are those that a section sets itself.
func (c conf) keys(gpu int) (keys []string) {
	from, to := c.section(gpu)
	for _, line := range c.lines[from:to] {
		if k, _, ok := cutLine(line); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// cutLine splits "key = value"; comments and blank lines are not ok.
func cutLine(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return "", "", false
	}
	key, value, ok = strings.Cut(line, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}
