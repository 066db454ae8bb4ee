package serving

import (
	"encoding/json"
	"math"
	"path"
	"regexp"
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
	// abortVariable is how vLLM before leases was told to keep a cache for so many
	// seconds.
	abortVariable = "VLLM_NIXL_ABORT_REQUEST_TIMEOUT"

	// newLease is how long a prefill worker of vLLM from 0.22 on keeps the cache of a
	// request that nobody renews, and oldLease what earlier ones do.
	newLease = 30 * time.Second
	oldLease = 480 * time.Second
	// longestLease is above all that makes sense.
	longestLease = 24 * time.Hour
)

// startedWith keeps of what a container is started with its configuration of KV
// transfer, as the only flag. What it has kept it keeps the same: an informer may do it
// twice.
func startedWith(c corev1.Container) (kept corev1.Container) {
	kept.Image = c.Image
	if text := kvConfig(c); text != "" {
		kept.Args = []string{kvFlag, text}
	}
	for _, e := range c.Env {
		if e.Name == abortVariable && len(e.Value) < kvLimit {
			kept.Env = append(kept.Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
	}
	return kept
}

// kvConfig finds the JSON of vLLM's flag: as an argument of its own, behind an equals
// sign, in a line for a shell, or in a variable that the argument names.
func kvConfig(c corev1.Container) string {
	words := append(append([]string{}, c.Command...), c.Args...)
	for n, word := range words {
		_, after, found := strings.Cut(strings.ReplaceAll(word, "--kv_transfer_config", kvFlag), kvFlag)
		if !found {
			continue
		}
		if after == "" && n+1 < len(words) {
			after = words[n+1]
		}
		return object(expanded(strings.TrimLeft(after, "= \t\n\\'\""), c.Env))
	}
	return ""
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

// object is the JSON object that a text begins with; empty where it is none, or too
// long.
func object(text string) string {
	var found json.RawMessage
	err := json.NewDecoder(strings.NewReader(text[:min(len(text), kvLimit)])).Decode(&found)
	if err != nil || !strings.HasPrefix(string(found), "{") {
		return ""
	}
	return string(found)
}

// transfer is what a container's configuration of KV transfer says; what it does not,
// or not in a way that is understood, is empty.
type transfer struct {
	onFailure string
	lease     time.Duration
}

// transferOf reads what startedWith has kept.
func transferOf(c corev1.Container) (t transfer) {
	var fields, extra map[string]json.RawMessage
	if len(c.Args) != 2 || json.Unmarshal([]byte(c.Args[1]), &fields) != nil {
		return t
	}
	var policy string
	if json.Unmarshal(fields["kv_load_failure_policy"], &policy) == nil && (policy == "fail" || policy == "recompute") {
		t.onFailure = policy
	}
	if json.Unmarshal(fields["kv_connector_extra_config"], &extra) == nil {
		t.lease = seconds(string(extra["kv_lease_duration"]))
	}
	return t
}

// seconds reads a time; 0 where it is none.
func seconds(text string) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n > longestLease.Seconds() {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

// leaseOf is how long a vLLM container keeps the cache of a request: what it is told,
// or what its version does. Where that is not known it is the longer time.
func leaseOf(c corev1.Container) time.Duration {
	renews, known := renewsLeases(c.Image)
	if lease := transferOf(c).lease; lease > 0 && (renews || !known) {
		return lease
	}
	if renews {
		return newLease
	}
	for _, e := range c.Env {
		if lease := seconds(e.Value); e.Name == abortVariable && lease > 0 {
			return lease
		}
	}
	return oldLease
}

// version is that of vLLM in the tag of an image.
var version = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(\.|-|$)`)

// renewsLeases says whether the vLLM of an image is of version 0.22 or newer, and
// whether that can be known: the tag has to be vLLM's own, and not that of a
// distribution.
func renewsLeases(image string) (renews, known bool) {
	name, tag, _ := strings.Cut(path.Base(strings.SplitN(image, "@", 2)[0]), ":")
	found := version.FindStringSubmatch(tag)
	if name != "vllm-openai" || found == nil {
		return false, false
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	return major > 0 || minor >= 22, true
}
