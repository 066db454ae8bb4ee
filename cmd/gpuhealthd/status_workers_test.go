package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

func TestWorkerTable(t *testing.T) {
	at := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	two := 2
	var out strings.Builder
	workerTable(&out, agent.Status{At: at, Workers: []agent.WorkerStatus{
		{Worker: serving.Worker{Name: "ns/d-0", Role: serving.Decode, OnFailure: "recompute"}, Group: "ns/g", Peers: &two,
			Stale: &fault.Stale{Lost: "ns/p-0", Since: at.Add(-time.Minute)}},
		{Worker: serving.Worker{Name: "ns/p-1", Role: serving.Prefill, OnFailure: "fail"}, Group: "ns/g", Peers: &two,
			Stranded: &serving.Stranded{Until: at.Add(20 * time.Second), Share: 0.5}},
		{Worker: serving.Worker{Name: "ns/d-1", Role: serving.Decode}, Group: "ns/h"},
	}})
	want := `
WORKER  ROLE     GROUP  PEERS  ON A FAILED LOAD                   NOTE
ns/d-0  decode   ns/g   2      recompute: seen as slowness alone  left by ns/p-0 1m ago
ns/p-1  prefill  ns/g   2      fail                               up to 50 % of its cache is kept for workers that are gone, for 20s more
ns/d-1  decode   ns/h   -      -                                  its peers are not known
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	out.Reset()
	if workerTable(&out, agent.Status{}); out.Len() > 0 {
		t.Errorf("of none: %q", out.String())
	}
}
