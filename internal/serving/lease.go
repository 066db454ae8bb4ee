package serving

import (
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
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

// seconds reads a time, to the millisecond; 0 where it is none.
func seconds(text string) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n > longestLease.Seconds() {
		return 0
	}
	return time.Duration(math.Round(n*1e3)) * time.Millisecond
}
