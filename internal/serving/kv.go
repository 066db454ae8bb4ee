package serving

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// kvLimit bounds the text of a configuration, in bytes; real ones have some hundred.
	kvLimit = 4 << 10
	// kvFlag is vLLM's, which takes underscores as well.
	kvFlag = "--kv-transfer-config"
)

// startedWith keeps of what a container is started with what its configuration of KV
// transfer says, as the only flag. What it has kept it keeps the same: an informer may do
// it twice.
func startedWith(c corev1.Container) (kept corev1.Container) {
	kept.Image = c.Image
	if t := transferOf(c); t != (transfer{}) {
		kept.Args = []string{kvFlag, t.text()}
	}
	for _, e := range c.Env {
		if e.Name == abortVariable && len(e.Value) < kvLimit {
			kept.Env = append(kept.Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
	}
	return kept
}

// The keys of the configuration that are read. Nested ones have a dot before them where
// they are arguments of their own.
const (
	keyPolicy = "kv_load_failure_policy"
	keyExtra  = "kv_connector_extra_config"
	keyLease  = "kv_lease_duration"
)

// transfer is what a container's configuration of KV transfer says; what it does not,
// or not in a way that is understood, is empty.
type transfer struct {
	onFailure string
	lease     time.Duration
}

// transferOf finds what vLLM's flag says: as JSON, or key by key in arguments such as
// --kv-transfer-config.kv_load_failure_policy, beside which JSON counts for nothing. A
// value is an argument of its own or behind an equals sign, in a line for a shell or not,
// or in a variable that is named instead.
func transferOf(c corev1.Container) (t transfer) {
	text := strings.Join(slices.Concat(c.Command, c.Args), "\n")
	text = strings.ReplaceAll(text, "--kv_transfer_config", kvFlag)
	if strings.Contains(text, kvFlag+".") {
		for _, part := range strings.Split(text, kvFlag+".")[1:] {
			key, rest := word(part)
			t.take(key, valueOf(rest, c.Env))
		}
		return t
	}
	_, after, _ := strings.Cut(text, kvFlag)
	var fields map[string]json.RawMessage
	if json.Unmarshal(valueOf(after, c.Env), &fields) == nil {
		t.take(keyPolicy, fields[keyPolicy])
		t.take(keyExtra, fields[keyExtra])
	}
	return t
}

// take takes in one key. Of several values vLLM takes the last.
func (t *transfer) take(key string, value json.RawMessage) {
	switch key {
	case keyPolicy:
		var policy string
		if json.Unmarshal(value, &policy) != nil || policy != "fail" && policy != "recompute" {
			policy = ""
		}
		t.onFailure = policy
	case keyExtra:
		var extra map[string]json.RawMessage
		if json.Unmarshal(value, &extra) == nil && extra[keyLease] != nil {
			t.lease = seconds(string(extra[keyLease]))
		}
	case keyExtra + "." + keyLease:
		t.lease = seconds(string(value))
	}
}

// text is the same as JSON.
func (t transfer) text() string {
	fields := map[string]any{}
	if t.onFailure != "" {
		fields[keyPolicy] = t.onFailure
	}
	if t.lease > 0 {
		fields[keyExtra] = map[string]any{keyLease: t.lease.Seconds()}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // of a string and a number: never
	}
	return string(text)
}

// between is what may stand between a flag and its value, and around it.
const between = "= \t\n\\'\""

// word is the first word of a text, and what comes behind it.
func word(text string) (first, rest string) {
	if end := strings.IndexAny(text, between); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// valueOf is the value that a text begins with, as JSON: an object, or a word, which is a
// string unless it is JSON by itself. Nil is none, or one that is too long.
func valueOf(text string, env []corev1.EnvVar) json.RawMessage {
	text = expanded(strings.TrimLeft(text, between), env)
	text = text[:min(len(text), kvLimit)]
	if strings.HasPrefix(text, "{") {
		var found json.RawMessage
		if json.NewDecoder(strings.NewReader(text)).Decode(&found) != nil {
			return nil
		}
		return found
	}
	first, _ := word(text)
	if json.Valid([]byte(first)) {
		return json.RawMessage(first)
	}
	return json.RawMessage(strconv.Quote(first))
}

// expanded is what a reference to a variable stands for, as the kubelet puts it in.
func expanded(text string, env []corev1.EnvVar) string {
	for _, e := range env {
		if strings.HasPrefix(text, "$("+e.Name+")") {
			return strings.TrimSpace(e.Value)
		}
	}
	return text
}
