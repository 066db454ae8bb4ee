package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
)

// errNotText refuses what a YAML reader would take for another encoding, and often for
// an empty file.
var errNotText = errors.New("it is not UTF-8 text")

// Kinds are the kinds of engines that are known, and those of the site's own file. An
// error names the file.
func (s Serving) Kinds() (*collect.Dialects, error) {
	if s.Dialects == "" {
		return collect.NewDialects(nil)
	}
	if err := readable(s.Dialects); err != nil {
		return nil, err
	}
	wrong := func(err error) error { return fmt.Errorf("%s: %w", s.Dialects, err) }
	text, err := read(s.Dialects)
	if err != nil {
		return nil, wrong(err)
	}
	if !utf8.Valid(text) {
		return nil, wrong(errNotText)
	}
	more, err := collect.ParseDialects(text)
	if err != nil {
		return nil, wrong(inOneLine(err))
	}
	all, err := collect.NewDialects(more)
	if err != nil {
		return nil, wrong(err)
	}
	return all, nil
}

// checkKinds reads the file of dialects as the daemon will, and finds engines of a kind
// that there is not.
func (s Serving) checkKinds() error {
	if !s.Enabled {
		return nil
	}
	kinds, err := s.Kinds()
	if err != nil {
		return fieldError{field: "serving.dialects", why: err.Error()}
	}
	for n, e := range s.Engines {
		if e.Dialect != "" && !slices.Contains(kinds.Names(), e.Dialect) {
			return fieldError{field: fmt.Sprintf("serving.engines[%d].dialect", n),
				why: fmt.Sprintf("%q is not one of %s", e.Dialect, strings.Join(kinds.Names(), ", "))}
		}
	}
	return nil
}

// inOneLine is an error of the YAML library, which has a heading and a line for each
// mistake.
func inOneLine(err error) error {
	text := strings.ReplaceAll(err.Error(), "yaml: unmarshal errors:\n", "")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return errors.New(strings.Join(lines, "; "))
}
