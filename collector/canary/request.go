package canary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// answerTokens is how long an answer is asked for.
	answerTokens = 32
	// endless is how many events with tokens show that an engine does not end where it
	// was asked to.
	endless = 4 * answerTokens
)

// Target is a replica and where its OpenAI API is.
type Target struct {
	Replica serving.Replica
	// URL is that of the server, such as http://10.0.0.7:8000.
	URL string
	// Model is what to ask for; empty takes the first that the server lists.
	Model string
}

// shown is the URL without a password that may be in it.
func (t Target) shown() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "a URL that cannot be read"
	}
	return u.Redacted()
}

// Limits say what an answer has to be like.
type Limits struct {
	// Frozen is how long a stream may be open without a token.
	Frozen time.Duration
	// FirstToken is how long the first may take of a replica that passes, Rate how
	// many a second must come behind it. 0 does not say.
	FirstToken time.Duration
	Rate       float64
}

// DefaultLimits are wide: a model of any size passes.
func DefaultLimits() Limits {
	return Limits{Frozen: 15 * time.Second, FirstToken: 10 * time.Second, Rate: 2}
}

// exchange is one request and what has come of it so far.
type exchange struct {
	client *http.Client
	target Target
	limits Limits
	probe  serving.Probe
	cancel context.CancelCauseFunc
	alarm  *time.Timer
}

// errFrozen ends an exchange in which nothing comes, errLate one that is still not over.
var (
	errFrozen = errors.New("no token")
	errLate   = errors.New("not over")
)

// whole is how long an answer may take in all: that is far behind what passes, so that a
// drip of tokens comes to an end.
func (l Limits) whole() time.Duration {
	if l.Rate <= 0 {
		return answerTokens * l.Frozen
	}
	return l.Frozen + time.Duration(answerTokens/l.Rate*float64(time.Second))
}

// probe sends one request and waits for the end of its answer. number makes the
// prompt.
func probe(ctx context.Context, client *http.Client, t Target, limits Limits, number uint64) serving.Probe {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{client: client, target: t, limits: limits, cancel: cancel,
		probe: serving.Probe{Replica: t.Replica, Endpoint: t.shown(), At: time.Now()}}
	x.alarm = time.AfterFunc(limits.Frozen, func() { cancel(errFrozen) })
	defer x.alarm.Stop()
	defer time.AfterFunc(limits.whole(), func() { cancel(errLate) }).Stop()
	err := x.talk(ctx, number)
	x.probe.Took = time.Since(x.probe.At)
	x.judge(ctx, err)
	return x.probe
}

// talk has the whole conversation; nil is an answer with its end marker.
func (x *exchange) talk(ctx context.Context, number uint64) error {
	model := x.target.Model
	if model == "" {
		var err error
		if model, err = x.firstModel(ctx); err != nil {
			return err
		}
	}
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": true, "max_tokens": answerTokens, "temperature": 0,
		"messages": []map[string]string{{"role": "user", "content": prompt(number)}},
	})
	if err != nil {
		return err
	}
	response, err := x.do(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return rejection{fmt.Sprintf("no stream of events: Content-Type %.80q", kind)}
	}
	return x.follow(newStream(response.Body))
}

// follow takes the tokens of a stream until it ends.
func (x *exchange) follow(s *stream) error {
	for {
		if err := s.next(); err != nil {
			if errors.Is(err, errEnded) {
				return nil
			}
			return err
		}
		if x.alarm.Reset(x.limits.Frozen); x.probe.Tokens == 0 {
			x.probe.FirstToken = time.Since(x.probe.At)
		}
		if x.probe.Tokens++; x.probe.Tokens > endless {
			return rejection{fmt.Sprintf("an answer of more than %d tokens: %d were asked for", endless, answerTokens)}
		}
	}
}

// firstModel asks the server what it serves.
func (x *exchange) firstModel(ctx context.Context) (string, error) {
	response, err := x.do(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&list); err != nil {
		return "", fmt.Errorf("list of models: %w", err)
	}
	if len(list.Data) == 0 {
		return "", rejection{"it lists no model"}
	}
	return list.Data[0].ID, nil
}

func (x *exchange) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	// The base URL of OpenAI's own clients ends in /v1.
	at, err := url.JoinPath(strings.TrimSuffix(strings.TrimSuffix(x.target.URL, "/"), "/v1"), path)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "gpuhealthd-canary")
	response, err := x.client.Do(request)
	if err != nil {
		return nil, unsent{err}
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200)) // the status says it too
		return nil, rejection{fmt.Sprintf("%s %s: %s %.200q", method, path, response.Status, text)}
	}
	return response, nil
}

// unsent is a request to which there was no answer at all.
type unsent struct{ error }

// judge says what the end of a conversation means.
func (x *exchange) judge(ctx context.Context, err error) {
	p := &x.probe
	p.Outcome, p.Why = serving.Passed, ""
	var told rejection
	var none unsent
	switch {
	case err == nil:
		x.measure()
	case errors.Is(context.Cause(ctx), errLate):
		p.Outcome, p.Why = serving.Slow, fmt.Sprintf("not over after %s, with %d tokens", x.limits.whole().Round(time.Millisecond), p.Tokens)
	case errors.Is(context.Cause(ctx), errFrozen):
		p.Outcome, p.Why = serving.Frozen, fmt.Sprintf("no token for %s, behind %d", x.limits.Frozen, p.Tokens)
	case errors.As(err, &told):
		p.Outcome, p.Why = serving.Rejected, told.why
	case errors.As(err, &none):
		p.Outcome, p.Why = serving.Unreachable, none.Error()
	default:
		p.Outcome, p.Why = serving.Cut, fmt.Sprintf("the stream ended behind %d tokens, without its end marker: %v", p.Tokens, err)
	}
}

// measure holds a whole answer against the limits.
func (x *exchange) measure() {
	p := &x.probe
	switch rate := p.Rate(); {
	case p.Tokens == 0:
		p.Outcome, p.Why = serving.Rejected, "an answer without a token"
	case x.limits.FirstToken > 0 && p.FirstToken > x.limits.FirstToken:
		p.Outcome, p.Why = serving.Slow, fmt.Sprintf("the first token took %s", p.FirstToken.Round(time.Millisecond))
	case rate > 0 && rate < x.limits.Rate:
		p.Outcome, p.Why = serving.Slow, fmt.Sprintf("%.1f tokens a second", rate)
	}
}
