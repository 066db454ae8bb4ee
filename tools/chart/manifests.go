package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// manifests reads the files of a folder as text, which keeps their comments. What cannot
// be done as it is asked for is err, the first of it; the text is then worth nothing.
type manifests struct {
	folder string
	err    error
}

// change is a text that a manifest has once, and what a template has there.
type change struct{ old, new string }

// template is a manifest from its first object on, with changes; where a condition is
// given it is empty without that.
func (m *manifests) template(name, condition string, changes ...change) string {
	text := m.read(name)
	start := strings.Index(text, "apiVersion:")
	if start < 0 || strings.Contains(text, "{{") {
		m.fail("%s: has no object, or {{", name)
		return ""
	}
	text = text[start:]
	for _, c := range changes {
		if n := strings.Count(text, c.old); n != 1 {
			m.fail("%s: has %d times %q, which is to be replaced", name, n, c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
	}
	if condition != "" {
		text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
	}
	if strings.Contains(text, "$rights.") {
		text = "{{- $rights := fromYaml (include \"gpuhealthd.rights\" .) }}\n" + text
	}
	return "{{- /* From deploy/" + name + ", by go generate ./tools/chart. */ -}}\n" + text
}

// between is what a manifest has between two texts, the first of which it has once; to
// its end where the second is empty.
func (m *manifests) between(name, from, to string) string {
	_, text, found := strings.Cut(m.read(name), from)
	if strings.Contains(text, from) {
		found = false
	}
	if to != "" && found {
		text, _, found = strings.Cut(text, to)
	}
	if !found {
		m.fail("%s: has no text between %q and %q, or more than one", name, from, to)
	}
	return text
}

func (m *manifests) read(name string) string {
	text, err := os.ReadFile(filepath.Join(m.folder, name))
	if err != nil {
		m.fail("%w", err)
	}
	return string(text)
}

func (m *manifests) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}
