package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/test/golden"
)

// TestTopologyModels holds the drawings of the named machines.
func TestTopologyModels(t *testing.T) {
	var all strings.Builder
	for _, model := range nvlink.TopologyNames() {
		text, err := call("topology", "--model", model)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("$ gpuhealthd topology --model " + model + "\n" + text + "\n")
	}
	golden.Check(t, "testdata/topology-models.txt", all.String())
}

// TestTopology holds the drawings of a board and of a tray, through the daemon's
// own answer over HTTP.
func TestTopology(t *testing.T) {
	for name, n := range map[string]nvlink.Node{"board": board(), "tray": tray()} {
		handler := httpd.Handler(fixed{node: n}, evidence.NewDir(t.TempDir(), evidence.Limits{}), prometheus.NewRegistry(), "test")
		server := httptest.NewServer(handler)
		for _, format := range []string{"text", "json", "dot"} {
			text, err := call("topology", "-o", format, "--url", server.URL)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/topology-"+name+"."+map[string]string{"text": "txt", "json": "json", "dot": "dot"}[format], text)
		}
		server.Close()
	}
}

func TestTopologyRefuses(t *testing.T) {
	for _, args := range [][]string{{"--model", "toaster"}, {"-o", "yaml"}, {"more"}} {
		if _, err := call(append([]string{"topology"}, args...)...); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	for body, want := range map[string]string{`{"gpus":[]}`: "no GPU has told", "{}": "does not answer as a gpuhealthd", "hello": "does not answer as a gpuhealthd"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		if _, err := call("topology", "--url", server.URL); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
		server.Close()
	}
}

// board is two GPUs behind two switches that the host has: one link sleeps, one
// is down.
func board() nvlink.Node {
	var reports []nvlink.GPUReport
	for g := range 2 {
		r := nvlink.GPUReport{Address: nvlink.Address{Bus: uint8(0x1b + g)}, UUID: "GPU-" + string(rune('a'+g)), Reading: nvlink.Reading{Generation: 4}}
		for l := range 6 {
			r.Reading.Links = append(r.Reading.Links, nvlink.Link{Index: l, State: nvlink.Active, Remote: nvlink.RemoteSwitch,
				Peer: &nvlink.Address{Bus: uint8(5 + l/3)}})
		}
		reports = append(reports, r)
	}
	reports[1].Reading.Links[1].State = nvlink.Sleep
	reports[1].Reading.Links[4].State = nvlink.Inactive
	return nvlink.Build(reports, nil)
}

// tray is a GPU of a rack, whose site has named two switches, beside one that has
// not come to the fabric yet.
func tray() nvlink.Node {
	var reports []nvlink.GPUReport
	for g := range 2 {
		f, _ := nvlink.MakeFabric(3, uint8(3-g), 0, [16]byte{0x7b, 1}, 1)
		r := nvlink.GPUReport{Address: nvlink.Address{Domain: uint32(8 + g), Bus: 1}, UUID: "GPU-" + string(rune('a'+g)),
			Reading: nvlink.Reading{Generation: 5, Fabric: &f, Platform: &nvlink.Platform{Chassis: "1821325191570", Slot: 11, Tray: 6, Module: g + 1, Switched: true}}}
		for l := range 4 {
			r.Reading.Links = append(r.Reading.Links, nvlink.Link{Index: l, State: nvlink.Active, Remote: nvlink.RemoteSwitch})
		}
		reports = append(reports, r)
	}
	return nvlink.Build(reports, map[int]string{0: "tray 1 chip 0", 1: "tray 1 chip 1"})
}
