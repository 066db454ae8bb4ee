package serving

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
)

// An engine whose process or GPU is not there is told for as long as it is so, and
// logged once.
func TestUnfound(t *testing.T) {
	var known []string
	h := newHost(t, Options{GPUs: func() []string { return known }, Engines: []Engine{
		{Name: "listed", URLs: []string{"http://a"}, GPUs: []string{"GPU-0", "MIG-1"}},
		{Name: "nope", URLs: []string{"http://b"}, GPUs: []string{"GPU-0", "GPU-nope"}},
		{Name: "found", URLs: []string{"http://c"}, Process: "vllm"},
	}})
	var logged bytes.Buffer
	h.options.Log = slog.New(slog.NewTextHandler(&logged, nil))
	after := time.Duration(0)
	is := func(when string, targets, lines int, want ...Unfound) {
		t.Helper()
		after += lookEvery
		h.local.looked = time.Time{}
		asked := len(h.targets())
		if diff := cmp.Diff(want, h.Unfound()); diff != "" || asked != targets || strings.Count(logged.String(), "\n") != lines {
			t.Errorf("%s: %d asked, logged %q; %s", when, asked, &logged, diff)
		}
	}
	nope := Unfound{"nope", "the node has no GPU or MIG device GPU-nope"}
	is("the GPUs are not known", 2, 0)
	known = []string{"GPU-0", "MIG-1"}
	is("nobody runs", 2, 2, nope, Unfound{"found", `no process that is called "vllm" has a GPU open`})
	is("still", 2, 2, nope, Unfound{"found", `no process that is called "vllm" has a GPU open`})
	h.found.Processes = []holders.Process{{PID: 1, Name: "vllm", GPUs: []string{"GPU-0"}}}
	is("it runs", 3, 2, nope)
	h.found = holders.Found{Unknown: "process 9: permission denied"}
	is("it is gone", 2, 3, nope, Unfound{"found", `no process that is called "vllm" has a GPU open, as far as is known: process 9: permission denied`})
}

// A pod that says of its port what is no port is told as well.
func TestUnfoundPod(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	h := newHost(t, Options{})
	if err := store.Add(pod("10.0.0.1", map[string]string{AnnotationPort: "http"})); err != nil {
		t.Fatal(err)
	}
	h.pods = store
	h.grants.known = map[types.NamespacedName]*given{{Namespace: "ns", Name: "pod"}: {gpus: []string{"GPU-0"}}}
	h.targets()
	if diff := cmp.Diff([]Unfound{{"ns/pod", `annotation gpuhealthd.io/serving-port: "http" is no port`}}, h.Unfound()); diff != "" {
		t.Error(diff)
	}
}
