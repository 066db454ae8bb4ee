package kube

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// TestTheDomainIsHeard: all Nodes with its label but our own, what each says, and
// every change of that.
func TestTheDomainIsHeard(t *testing.T) {
	cluster := shared.Cluster(t)
	const domain = "0123456789ab"
	own := onNode(t, cluster)
	others := []*bench{}
	for _, name := range []string{"heard-a", "heard-b", "elsewhere"} {
		cluster.CreateNode(t, name)
		others = append(others, with(t, cluster, name, cluster.Admin()))
	}
	a, b, elsewhere := others[0], others[1], others[2]
	label := func(domain string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, remediate.LabelDomain, domain)
	}
	for _, n := range []*bench{own, a, b} {
		n.edit(t, label(domain))
	}
	elsewhere.edit(t, label("ba9876543210"))

	d, err := NewDomain(Options{Name: own.options.Name, Config: cluster.Admin(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observe: own.requests.observe})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan []remediate.Neighbour, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Hear(ctx, domain, func(all []remediate.Neighbour) { heard <- all })
	}()
	await := func(want ...remediate.Neighbour) {
		t.Helper()
		var last []remediate.Neighbour
		for limit := time.After(20 * time.Second); ; {
			select {
			case last = <-heard:
				if slices.Equal(last, want) {
					return
				}
			case <-limit:
				t.Fatalf("heard %v last, want %v", last, want)
			}
		}
	}
	await(remediate.Neighbour{Node: "heard-a"}, remediate.Neighbour{Node: "heard-b"})
	said := remediate.Desired{State: remediate.Suspect, Domain: domain, Summary: `{"echoes":4}`}
	b.apply(t, said)
	await(remediate.Neighbour{Node: "heard-a"}, remediate.Neighbour{Node: "heard-b", Summary: `{"echoes":4}`})
	a.edit(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, remediate.SummaryAnnotation, strings.Repeat("x", 100_000)))
	await(remediate.Neighbour{Node: "heard-a", Summary: strings.Repeat("x", summaryKept)}, remediate.Neighbour{Node: "heard-b", Summary: `{"echoes":4}`})
	said.Summary = ""
	b.apply(t, said)
	a.edit(t, label("ba9876543210"))
	await(remediate.Neighbour{Node: "heard-b"})
	cancel()
	<-done
	if n := own.requests.count("watch nodes") + own.requests.count("list nodes"); n > 2 {
		t.Errorf("%d reads: %v", n, own.requests.seen)
	}
}

// TestTheSummaryIsWrittenWithTheRest: with the labels and the mark, in one write,
// and taken away as it came; somebody else's is replaced.
func TestTheSummaryIsWrittenWithTheRest(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	want := quarantined("a")
	want.Summary = `{"roots":["GPU-1"]}`
	b.apply(t, want)
	if n := b.requests.count("patch nodes "); n != 1 {
		t.Errorf("%d writes of metadata and spec", n)
	}
	says := func(text string) {
		t.Helper()
		if got := b.object(t).Annotations[remediate.SummaryAnnotation]; got != text {
			t.Errorf("says %q, want %q", got, text)
		}
	}
	says(want.Summary)
	b.edit(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:"mine"}}}`, remediate.SummaryAnnotation))
	b.apply(t, want)
	says(want.Summary)
	b.apply(t, healthy())
	says("")
	b.edit(t, `{"metadata":{"annotations":null}}`)
	want = healthy()
	want.Summary, want.Stranded = `{"training":true}`, "1.00" // both onto a Node without annotations
	b.apply(t, want)
	says(want.Summary)
}
