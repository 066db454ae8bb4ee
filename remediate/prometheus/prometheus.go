// Package prometheus asks a Prometheus server for one number at a time. Each question
// has its deadline, and its answer a bound. What is no number is an error: unknown is
// never zero.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// queryTime is how long one query may take.
	queryTime = 5 * time.Second
	// answerLimit is the most bytes that are read of an answer; one number needs few.
	answerLimit = 64 << 10
)

// Server is one by its URL, of http or https.
type Server struct{ URL string }

// ErrNothing says that an expression has no sample, which is in order.
var ErrNothing = errors.New("0 samples, where one is wanted")

// Value asks for one number. No sample (ErrNothing), several, or what is no number is an
// error, which names the server and the expression.
func (s Server) Value(ctx context.Context, expression string) (float64, error) {
	v, err := s.query(ctx, expression)
	if err != nil {
		return 0, fmt.Errorf("ask %s for %.120q: %w", s.URL, expression, err)
	}
	return v, nil
}

func (s Server) query(ctx context.Context, expression string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	target := strings.TrimSuffix(s.URL, "/") + "/api/v1/query?" + url.Values{"query": {expression}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return 0, err
	}
	v, err := numberIn(response.Status, body)
	if err == nil && response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s, with a number all the same", response.Status)
	}
	return v, err
}

// numberIn reads the one number of an answer.
func numberIn(status string, body []byte) (float64, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("%s, and no answer of Prometheus's: %w", status, err)
	}
	if answer.Status == "" {
		return 0, fmt.Errorf("%s, and no answer of Prometheus's: %.80q", status, body)
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s: %.200q", status, answer.Error)
	}
	sample := answer.Data.Result
	if answer.Data.ResultType == "vector" {
		var vector []struct{ Value json.RawMessage }
		if err := json.Unmarshal(sample, &vector); err != nil {
			return 0, err
		}
		if len(vector) == 0 {
			return 0, ErrNothing
		}
		if len(vector) > 1 {
			return 0, fmt.Errorf("%d samples, where one is wanted", len(vector))
		}
		sample = vector[0].Value
	}
	return finite(sample)
}

// finite reads a sample: a time and a number as text.
func finite(sample json.RawMessage) (float64, error) {
	var pair []any
	if err := json.Unmarshal(sample, &pair); err != nil || len(pair) != 2 {
		return 0, fmt.Errorf("%.80q is no sample", sample)
	}
	text, _ := pair[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return v, nil
}
