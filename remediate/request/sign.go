package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Path is a JSONPath as kubectl writes it, such as {.status.phase}. The empty Path
// finds nothing.
type Path string

func (p Path) parse() (*jsonpath.JSONPath, error) {
	if !strings.HasPrefix(string(p), "{") {
		return nil, fmt.Errorf("%q is not a JSONPath such as {.status.phase}", string(p))
	}
	path := jsonpath.New("").AllowMissingKeys(true)
	if err := path.Parse(string(p)); err != nil {
		return nil, fmt.Errorf("JSONPath %s: %w", p, err)
	}
	return path, nil
}

func (p Path) check() error {
	if p == "" {
		return nil
	}
	_, err := p.parse()
	return err
}

// find gives what stands there in an object, empty where nothing does.
func (p Path) find(object map[string]any) (string, error) {
	if p == "" {
		return "", nil
	}
	path, err := p.parse()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := path.Execute(&text, object); err != nil {
		return "", fmt.Errorf("JSONPath %s: %w", p, err)
	}
	return strings.TrimSpace(text.String()), nil
}

// Sign is a value that a resource's status takes.
type Sign struct {
	Path   Path     `yaml:"path"`
	Values []string `yaml:"values"`
}

func (s Sign) none() bool { return s.Path == "" && len(s.Values) == 0 }

func (s Sign) check() error {
	switch {
	case s.none():
		return nil
	case s.Path == "":
		return errors.New("path: missing")
	case len(s.Values) == 0 || slices.Contains(s.Values, ""):
		return errors.New("values: want at least one, and none that is empty: a status that is not there yet is no sign")
	}
	if err := s.Path.check(); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}

// seen says whether an object has it.
func (s Sign) seen(object map[string]any) (bool, error) {
	value, err := s.Path.find(object)
	return value != "" && slices.Contains(s.Values, value), err
}
