package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	lineOf    = regexp.MustCompile(`line (\d+): `)
	unknownIn = regexp.MustCompile(`field (\S+) not found in type \S+`)
)

// located gives an error its file, line and field. The YAML library names the
// line only; the field is looked up in the text.
func located(name string, data []byte, err error) error {
	var tree yaml.Node
	if yaml.Unmarshal(data, &tree) != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fields := map[int]string{}
	lines := map[string]int{}
	walk(&tree, "", func(path string, line int) {
		fields[line] = path
		lines[path] = line
	})
	var bad fieldError
	if errors.As(err, &bad) {
		if line, ok := lines[bad.field]; ok {
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	var typed *yaml.TypeError
	text := err.Error()
	if errors.As(err, &typed) && len(typed.Errors) > 0 {
		text = typed.Errors[0]
	}
	m := lineOf.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	line, _ := strconv.Atoi(m[1])
	text = strings.Replace(text, m[0], "", 1)
	text = unknownIn.ReplaceAllString(text, "unknown key")
	return fmt.Errorf("%s:%d: %s: %s", name, line, fields[line], text)
}

// walk visits every key of a document by its dotted path.
func walk(n *yaml.Node, path string, visit func(path string, line int)) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := strings.TrimPrefix(path+"."+n.Content[i].Value, ".")
			visit(key, n.Content[i].Line)
			walk(n.Content[i+1], key, visit)
		}
		return
	}
	for _, c := range n.Content {
		walk(c, path, visit)
	}
}
