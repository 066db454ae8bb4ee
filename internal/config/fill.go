package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lineOf is how the YAML library begins what is wrong with a value.
var lineOf = regexp.MustCompile(`^(yaml: )?line \d+: `)

// fill puts a document's values over those of v, a struct, and stops at the
// first that it does not understand. The library's own decoder takes 1.5 for 1,
// and names no field.
func fill(n *yaml.Node, v reflect.Value, path string) error {
	if n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		why := "must hold keys and values"
		if path == "" {
			why = "the file " + why
		}
		return fieldError{path, n.Line, why}
	}
	given := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field := strings.TrimPrefix(path+"."+key.Value, ".")
		into, known := fieldOf(v, key)
		if !known {
			return fieldError{field, key.Line, "unknown key"}
		}
		if before, twice := given[key.Value]; twice {
			return fieldError{field, key.Line, fmt.Sprintf("given before, at line %d", before)}
		}
		given[key.Value] = key.Line
		if err := put(value, into, field); err != nil {
			if bad := (fieldError{}); errors.As(err, &bad) {
				return err
			}
			return fieldError{field, key.Line, lineOf.ReplaceAllString(err.Error(), "")}
		}
	}
	return nil
}

// fieldOf finds a key's field by its tag.
func fieldOf(v reflect.Value, key *yaml.Node) (reflect.Value, bool) {
	for i := range v.NumField() {
		if key.Kind == yaml.ScalarNode && v.Type().Field(i).Tag.Get("yaml") == key.Value {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// put puts one value where it belongs.
func put(n *yaml.Node, into reflect.Value, field string) error {
	_, whole := into.Interface().(int)
	switch {
	case isAlias(n) || slices.ContainsFunc(n.Content, isAlias):
		return errors.New("an alias; write the value itself")
	case into.Kind() == reflect.Struct:
		return fill(n, into, field)
	case n.Kind == yaml.SequenceNode && into.Kind() == reflect.Slice && hasKeys(into.Type().Elem()):
		return putAll(n, into, field)
	case whole && n.ShortTag() == "!!float":
		return fmt.Errorf("%s is not a whole number in range", n.Value)
	}
	err := n.Decode(into.Addr().Interface())
	var typed *yaml.TypeError
	switch {
	case !errors.As(err, &typed):
		return err
	case strings.Contains(typed.Errors[0], "cannot unmarshal"):
		return fmt.Errorf("%s is not %s", written(n), kindOf(into.Type()))
	}
	return errors.New(typed.Errors[0])
}

// written is a value as the file has it, as far as an error needs it.
func written(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a map"
	}
	return strconv.Quote(n.Value)
}

// kindOf names what a value of the type must be.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list of single values, such as [a, b]"
	case reflect.Map:
		return "a map, such as {a: b}"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number in range"
	case reflect.Float64:
		return "a number"
	}
	return "one value, such as a word"
}

// hasKeys says whether a value of the type is written as keys and values.
func hasKeys(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]())
}

// putAll puts a list of structs where it belongs.
func putAll(n *yaml.Node, into reflect.Value, field string) error {
	all := reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if err := fill(item, all.Index(i), fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return err
		}
	}
	into.Set(all)
	return nil
}

func isAlias(n *yaml.Node) bool { return n.Kind == yaml.AliasNode }
