package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// fieldError is what is wrong with a field, by its dotted path. The field is
// empty where the file as a whole is meant, the line 0 where it is not known.
type fieldError struct {
	field string
	line  int
	why   string
}

func (e fieldError) Error() string {
	if e.field == "" {
		return e.why
	}
	return e.field + ": " + e.why
}

// syntaxAt is the YAML library's word on a text that is no YAML.
var syntaxAt = regexp.MustCompile(`^yaml: line (\d+): `)

// located gives an error its file, and its line where that is known.
func located(name string, err error) error {
	text := err.Error()
	var bad fieldError
	if errors.As(err, &bad) && bad.line > 0 {
		name += ":" + strconv.Itoa(bad.line)
	}
	if m := syntaxAt.FindStringSubmatch(text); m != nil {
		name += ":" + m[1]
		text = text[len(m[0]):]
	}
	return fmt.Errorf("%s: %s", name, printable(strings.TrimPrefix(text, "yaml: ")))
}

// printable quotes what could act on a terminal: keys and values are anybody's.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return out.String()
}

// lineOfField is the line on which a document gives a field, 0 where it does not.
func lineOfField(document *yaml.Node, field string) (found int) {
	walk(document, "", func(path string, line int) {
		if path == field {
			found = line
		}
	})
	return found
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
	for i, c := range n.Content {
		if n.Kind == yaml.SequenceNode && c.Kind == yaml.MappingNode {
			visit(fmt.Sprintf("%s[%d]", path, i), c.Line)
			walk(c, fmt.Sprintf("%s[%d]", path, i), visit)
			continue
		}
		walk(c, path, visit)
	}
}
