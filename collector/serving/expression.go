package serving

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// label is a condition on a series.
type label struct{ name, value string }

// term is a metric, and which of its series.
type term struct {
	metric string
	labels []label
}

// expression is a sum of those of its terms that have samples.
type expression []term

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	// wholeTerm is a metric's name and what stands in braces behind it, if any.
	wholeTerm = regexp.MustCompile(`^([^{}\s]+)\s*(?:\{([^{}]*)\})?$`)
)

// parseExpression reads a sum, such as a_total + b_total{kind="x"}.
func parseExpression(text string) (x expression, err error) {
	for _, part := range strings.Split(text, "+") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		x = append(x, t)
	}
	return x, nil
}

func parseTerm(text string) (term, error) {
	m := wholeTerm.FindStringSubmatch(text)
	if m == nil || !metricName.MatchString(m[1]) {
		return term{}, fmt.Errorf("%.80q is no metric; write it as name or as name{label=\"value\"}", text)
	}
	t := term{metric: m[1]}
	if m[2] == "" {
		return t, nil
	}
	for _, part := range strings.Split(m[2], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		unquoted, err := strconv.Unquote(value)
		if err != nil || !labelName.MatchString(name) {
			return term{}, fmt.Errorf("%.80q is no condition; write it as label=\"value\"", part)
		}
		t.labels = append(t.labels, label{name, unquoted})
	}
	return t, nil
}

// condition is true where a sum equals a number.
type condition struct {
	sum    expression
	equals float64
}

// parseCondition reads a condition, such as a{b="c"} == 0.
func parseCondition(text string) (c condition, err error) {
	left, right, found := strings.Cut(text, "==")
	if !found {
		return c, fmt.Errorf("%.80q compares nothing; write it as metric == number", text)
	}
	if c.equals, err = strconv.ParseFloat(strings.TrimSpace(right), 64); err != nil {
		return c, fmt.Errorf("%.80q: %w", text, errors.Unwrap(err))
	}
	c.sum, err = parseExpression(strings.TrimSpace(left))
	return c, err
}
