package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/internal/httpd"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// fixed is an agent in one state.
type fixed struct {
	status agent.Status
	node   nvlink.Node
}

func (f fixed) Status() agent.Status  { return f.status }
func (f fixed) Topology() nvlink.Node { return f.node }
func (f fixed) Alive() error          { return nil }
func (f fixed) CancelDiagnosis(context.Context) (string, error) {
	return "", errors.New("no diagnosis is asked for")
}

func (f fixed) Diagnose(context.Context, int, []string) (string, error) {
	return "", errors.New("nobody diagnoses")
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// TestStatus holds what gpuhealthd status prints, through the daemon's own
// answer over HTTP.
func TestStatus(t *testing.T) {
	for name, s := range map[string]agent.Status{"starting": starting(), "healthy": healthy(), "quarantined": quarantined(), "failed": failed(),
		"blind": blind(), "guarded": guarded(), "fenced": fenced(), "waiting": waiting(), "serving": served(), "training": training(), "drained": drained()} {
		t.Run(name, func(t *testing.T) {
			handler := httpd.Handler(fixed{status: s}, evidence.NewDir(t.TempDir(), evidence.Limits{}), prometheus.NewRegistry(), "test")
			server := httptest.NewServer(handler)
			defer server.Close()
			text, err := call("status", "--url", server.URL)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/status-"+name+".txt", text)
			text, err = call("status", "--json", "--url", server.URL)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/status-"+name+".json", text)
		})
	}
}

// TestStatusOfSomethingElse: an answer that is no status is not shown as one.
func TestStatusOfSomethingElse(t *testing.T) {
	for _, body := range []string{"{}", "[]", "hello", "", `{"status":"ok"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		for _, format := range []string{"text", "json"} {
			text, err := call("status", "-o", format, "--url", server.URL)
			if err == nil || !strings.Contains(err.Error(), "does not answer as a gpuhealthd") || text != "" {
				t.Errorf("%q as %s: %v; it said %q", body, format, err, text)
			}
		}
		server.Close()
	}
}

func starting() agent.Status {
	return agent.Status{At: noon, BootID: "11111111-2222-3333-4444-555555555555", Mode: remediate.Contain,
		Incidents: []remediate.Incident{}, History: []remediate.Incident{}, Diagnoses: []diag.Request{}, GPUs: []inventory.GPU{},
		KernelLog: kernlog.Hearing{Source: kernlog.Kmsg, State: kernlog.State{Deaf: "open kernel log /dev/kmsg: permission denied", Since: noon.Add(-time.Minute)}},
		Driver:    agent.DriverStatus{Enabled: true},
		Store:     "open store /var/lib/gpuhealthd/state.db: damaged: page 3 is garbled; move it aside and restart: gpuhealthd will start with empty memory"}
}

func healthy() agent.Status {
	s := starting()
	count := 2
	s.Store = ""
	s.KernelLog.State = kernlog.State{Since: noon.Add(-time.Hour), Read: 1200, Lost: 12, Last: kernlog.Position{BootID: s.BootID, Sequence: 1212},
		LastArrival: noon.Add(-time.Second), LastGap: kernlog.Gap{BootID: s.BootID, From: 700, To: 711, At: noon.Add(-30 * time.Minute)}}
	s.Driver.Answered = noon.Add(-3 * time.Second)
	s.Driver.Polls = 720
	s.GPUs = []inventory.GPU{gpu(0), gpu(1)}
	s.Node = &remediate.Desired{State: remediate.Healthy, GPUsHealthy: &count,
		GPU:    remediate.Condition{Status: "True", Reason: "NoActingFault", Message: "no fault that takes a GPU out of service"},
		NVLink: remediate.Condition{Status: "Unknown", Reason: "LinksNotPolled", Message: "link state is not polled"}}
	return s
}

// training is a node whose NVLinks are on their way up.
func training() agent.Status {
	s := healthy()
	s.Node.NVLink = remediate.Condition{Status: "Unknown", Reason: "LinksSettling", Message: "NVLinks or fabric are not up yet, and are given their time"}
	for _, g := range s.GPUs {
		d := fault.Device{PCI: g.PCI, UUID: g.UUID}
		s.Training = append(s.Training, fault.Training{GPU: d, Class: fault.LinksDown, What: "links 0-17 down", Until: noon.Add(8 * time.Minute)},
			fault.Training{GPU: d, Class: fault.FabricUnhealthy, What: "fabric in-progress", Until: noon.Add(9 * time.Minute)})
	}
	return s
}

// blind is an agent that has known its GPUs and cannot ask for them now.
func blind() agent.Status {
	s := healthy()
	s.Driver.Blind = "every GPU failed at once"
	return s
}

func quarantined() agent.Status {
	s := healthy()
	one := 1
	device := fault.Device{PCI: s.GPUs[1].PCI, UUID: s.GPUs[1].UUID}
	v := fault.Verdict{ID: "11111111-1200", Class: fault.XID95, GPUs: []fault.Device{device}, Affected: []fault.Device{device}, Victims: []fault.Device{},
		Radius: fault.GPU, Action: fault.Reset, Diag: 2, Hard: true, Drain: fault.DrainNow, Hardware: true, Count: 3,
		Reason: "uncontained memory error; the driver asks for a GPU reset (recovery action 1)", Opened: noon.Add(-10 * time.Minute),
		Evidence: []string{"Uncontained: FBHUB. RST: Yes, D-RST: No"}}
	i := remediate.Incident{Verdict: v, State: remediate.Quarantined, Claimed: true, Contained: true, Steps: []remediate.Step{
		{Kind: remediate.StepCordon, Status: remediate.Done, Since: noon.Add(-10 * time.Minute)},
		{Kind: remediate.StepReset, Status: remediate.Requested, Since: noon.Add(-10 * time.Minute)},
		{Kind: remediate.StepDiag, Status: remediate.Requested, Since: noon.Add(-10 * time.Minute)}}}
	s.Incidents = []remediate.Incident{i}
	request, _ := diag.For(v)
	s.Diagnoses = []diag.Request{request}
	over := v
	over.ID, over.Class, over.Closed, over.Action = "11111111-7", fault.XID79, true, fault.None
	s.History = []remediate.Incident{{Verdict: over, State: remediate.Probation, Ended: noon.Add(-2 * time.Hour)}}
	s.Node = &remediate.Desired{State: remediate.Quarantined, Fault: "xid-95", Radius: "gpu", GPUsHealthy: &one, Quarantine: true,
		Note: &remediate.Note{ID: v.ID, Opened: v.Opened, Fault: "xid-95", GPUs: []string{device.UUID}, Radius: "gpu", Action: "reset", Step: "reset-requested"},
		GPU:  remediate.Condition{Status: "False", Reason: "Xid95", Message: device.String() + " incident " + v.ID}}
	s.API = &agent.Trouble{Error: "patch node a: connection refused", At: noon.Add(-5 * time.Second)}
	s.Waiting = 1
	s.Driver.Lacks = []string{"nvmlDeviceGetMarginTemperature", "nvmlGpmSampleGet"}
	s.Offered = remediate.Offered{Capacity: 2, Allocatable: 1}
	return s
}

func failed() agent.Status {
	s := quarantined()
	i := &s.Incidents[0]
	i.State, i.Verdict.Class, i.Verdict.Action, i.Verdict.Reason = remediate.Failed, fault.SRAMThreshold, fault.Replace, "more uncorrectable SRAM errors than the board may have"
	board := evidence.GPU{Identity: s.GPUs[1].Identity, Slot: "7"}
	board.Part = "692-2G520-0200-500"
	s.Replacements = []evidence.Replacement{{Incident: i.Verdict.ID, GPUs: []evidence.GPU{board}, Reason: i.Verdict.Reason, Failure: "memory failed: a bad cell (FAULTY_MEMORY, code 52)", Bundle: "/var/lib/gpuhealthd/evidence/11111111-1200.jsonl"}}
	s.Evidence = "the disk has not come back for 5s"
	return s
}

func gpu(i int) inventory.GPU {
	pci := []string{"0000:1b:00", "0000:2b:00"}[i]
	at, _ := xidparse.ParsePCI(pci)
	return inventory.GPU{Listed: true, Identity: nvml.Identity{UUID: "GPU-0000000" + string(rune('0'+i)) + "-aaaa-bbbb-cccc-0123456789ab",
		PCI: at, Serial: "165412345678" + string(rune('0'+i)), Name: "NVIDIA H100 80GB HBM3"}}
}
