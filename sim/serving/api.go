package serving

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// bodyLimit bounds a request, in bytes.
	bodyLimit = 1 << 20
	// defaultAnswer is how many tokens an answer has that no limit was set for.
	defaultAnswer = 16
	// endMarker ends a stream that is whole.
	endMarker = "data: [DONE]\n\n"
)

// ServeHTTP answers as the engine does.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.mux.ServeHTTP(w, r) }

func (e *Engine) route() {
	e.mux = http.NewServeMux()
	e.mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {}) // 200, dead or alive
	e.mux.HandleFunc("GET /v1/models", e.models)
	e.mux.HandleFunc("POST /v1/completions", e.complete)
	e.mux.HandleFunc("POST /v1/chat/completions", e.complete)
	e.mux.HandleFunc("GET /metrics", e.metrics)
	e.mux.HandleFunc("GET /prometheus/metrics", e.metrics)
	e.mux.HandleFunc("POST /sim/fault", e.fault)
	e.mux.HandleFunc("GET /sim/memory", e.memory)
}

func (e *Engine) models(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": e.options.Model, "object": "model"}}})
}

// fault plays the fault that the body names.
func (e *Engine) fault(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err == nil {
		err = e.Fault(strings.TrimSpace(string(text)))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// asked is a request as the API has it, for text and for a chat.
type asked struct {
	Prompt   string
	Messages []struct{ Content string }
	Max      *int `json:"max_tokens"`
	Stream   bool
}

// complete answers a request, in a stream if so asked.
func (e *Engine) complete(w http.ResponseWriter, r *http.Request) {
	var a asked
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit)).Decode(&a); err != nil {
		http.Error(w, fmt.Sprintf("read the request: %v", err), http.StatusBadRequest)
		return
	}
	text := a.Prompt
	for _, m := range a.Messages {
		text += " " + m.Content
	}
	tokens := defaultAnswer
	if a.Max != nil {
		tokens = *a.Max
	}
	if tokens < 1 {
		http.Error(w, "max_tokens: want 1 or more", http.StatusBadRequest)
		return
	}
	prompt := max(1, len(strings.Fields(text)))
	loaded, err := e.load(r.Context())
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	case loaded:
		prompt = 1
	}
	q := e.take(r.Context(), prompt, tokens)
	reply := &reply{w: w, chat: strings.Contains(r.URL.Path, "chat"), model: e.options.Model, stream: a.Stream}
	if !e.serve(q, reply.token) {
		panic(http.ErrAbortHandler) // the client sees its connection end, and no marker
	}
	reply.end(q)
}

// reply is an answer on its way.
type reply struct {
	w            http.ResponseWriter
	chat, stream bool
	model        string
	tokens       int
}

// token sends one.
func (r *reply) token() {
	r.tokens++
	if !r.stream {
		return
	}
	if r.tokens == 1 {
		r.w.Header().Set("Content-Type", "text/event-stream")
	}
	r.send(r.choice("tok ", nil))
}

func (r *reply) send(chunk any) {
	text, err := json.Marshal(chunk)
	if err != nil {
		panic(err) // of maps and strings: never
	}
	fmt.Fprintf(r.w, "data: %s\n\n", text)
	http.NewResponseController(r.w).Flush() //nolint:errcheck // a client that has gone is seen by its context
}

// choice is an answer or a part of it.
func (r *reply) choice(text string, finish any) map[string]any {
	choice := map[string]any{"index": 0, "finish_reason": finish}
	object := "text_completion"
	switch {
	case r.chat && r.stream:
		object = "chat.completion.chunk"
		choice["delta"] = map[string]string{"content": text}
	case r.chat:
		object = "chat.completion"
		choice["message"] = map[string]string{"role": "assistant", "content": text}
	default:
		choice["text"] = text
	}
	return map[string]any{"id": "sim", "object": object, "created": time.Now().Unix(), "model": r.model, "choices": []any{choice}}
}

// end sends what ends the answer.
func (r *reply) end(q *request) {
	if r.stream {
		r.send(r.choice("", "length"))
		fmt.Fprint(r.w, endMarker)
		return
	}
	whole := r.choice(strings.Repeat("tok ", r.tokens), "length")
	whole["usage"] = map[string]int{"prompt_tokens": q.prompt, "completion_tokens": r.tokens, "total_tokens": q.prompt + r.tokens}
	answer(r.w, whole)
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(what); err != nil {
		panic(http.ErrAbortHandler)
	}
}
