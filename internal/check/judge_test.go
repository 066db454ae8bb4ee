package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// node is a healthy one with two GPUs, and incidents.
func node(incidents ...remediate.Incident) agent.Status {
	s := agent.Status{At: noon, Incidents: incidents, KernelLog: kernlog.Hearing{Source: kernlog.Kmsg},
		Driver: agent.DriverStatus{Enabled: true, Answered: noon, Polls: 3}}
	for i, uuid := range []string{"GPU-a", "GPU-b"} {
		s.GPUs = append(s.GPUs, inventory.GPU{Listed: true, Identity: nvml.Identity{UUID: uuid, PCI: xidparse.PCI{Bus: uint8(i + 1)}}})
	}
	return s
}

func incident(class fault.Class, action fault.Action, change ...func(*remediate.Incident)) remediate.Incident {
	i := remediate.Incident{State: remediate.Suspect, Verdict: fault.Verdict{ID: "b-1", Class: class, Action: action, Hardware: true, Reason: "why",
		GPUs: []fault.Device{{UUID: "GPU-b", PCI: xidparse.PCI{Bus: 2}}}}}
	for _, do := range change {
		do(&i)
	}
	return i
}

func blind(s agent.Status, why string) agent.Status {
	s.Driver.Blind = why
	return s
}

func TestJudge(t *testing.T) {
	probation := func(i *remediate.Incident) { i.State = remediate.Probation }
	released := func(i *remediate.Incident) { i.Released = true }
	deaf := node()
	deaf.KernelLog.Deaf = "permission denied"
	gpuless := blind(node(), "no GPU")
	gpuless.Driver.Gpuless, gpuless.GPUs = true, nil
	starting := node()
	starting.Driver.Answered, starting.Driver.Polls = time.Time{}, 0
	stuck := node()
	stuck.Driver.Stuck = []string{"nvmlDeviceGetName on GPU-b"}
	training := node()
	training.Training = []fault.Training{{GPU: fault.Device{UUID: "GPU-a"}, Class: fault.LinksDown, What: "links 0-17 down", Until: noon.Add(10 * time.Minute)},
		{GPU: fault.Device{UUID: "GPU-a"}, Class: fault.FabricUnhealthy, What: "fabric in-progress", Until: noon.Add(10 * time.Minute)},
		{GPU: fault.Device{UUID: "GPU-b"}, Class: fault.LinksDown, What: "links 0-17 down", Until: noon.Add(10 * time.Minute)}}
	over := func(i *remediate.Incident) { probation(i); i.Verdict.Reason = "over: the reset is done" }
	unnamed := func(i *remediate.Incident) { i.Verdict.GPUs = []fault.Device{{PCI: xidparse.PCI{Bus: 9}}} }
	lost := node(incident(fault.GPULost, fault.Reboot))
	lost.GPUs[1].Listed, lost.GPUs[1].Lost = false, true
	short := node()
	short.Driver.Expect = 3
	asleep := node()
	asleep.At = noon.Add(-time.Minute)
	for name, c := range map[string]struct {
		status     agent.Status
		only, skip string
		want       string
	}{
		"healthy":                         {node(), "", "", "healthy: 2 of 2 GPUs in order"},
		"faulty":                          {node(incident(fault.XID95, fault.Reset)), "", "", "faulty: xid-95 on GPU-b: why (b-1)"},
		"degraded":                        {node(incident(fault.XID94, fault.Record)), "", "", "degraded: xid-94 on GPU-b: why (b-1)"},
		"held":                            {node(incident(fault.LinksDown, fault.Hold)), "", "", "degraded: links-down on GPU-b: why (b-1)"},
		"on probation":                    {node(incident(fault.XID95, fault.Reset, probation)), "", "", "degraded: xid-95 on GPU-b: why; over, and on probation (b-1)"},
		"on probation, as the judge says": {node(incident(fault.XID95, fault.Reset, over)), "", "", "degraded: xid-95 on GPU-b: the reset is done; over, and on probation (b-1)"},
		"a lost GPU is one that there is": {lost, "thermal", "", "healthy: 1 of 2 GPUs in order"},
		"so is one that was never seen":   {node(incident(fault.GPUCountShort, fault.Hold, unnamed)), "", "gpu-count-short", "healthy: 2 of 3 GPUs in order"},
		"and one that there must be":      {short, "", "", "healthy: 2 of 3 GPUs in order"},
		"released":                        {node(incident(fault.XID95, fault.Reset, released)), "", "", "degraded: xid-95 on GPU-b: why; an administrator has put the node back (b-1)"},
		"the worst comes first":           {node(incident(fault.XID94, fault.Record), incident(fault.XID95, fault.Reset)), "", "", "faulty: xid-95 on GPU-b: why (b-1); xid-94 on GPU-b: why (b-1)"},
		"blind":                           {blind(node(), "nvmlInit: no driver"), "", "", "unknown: driver: nvmlInit: no driver"},
		"blind and degraded":              {blind(node(incident(fault.XID94, fault.Record)), "x"), "", "", "unknown: driver: x; xid-94 on GPU-b: why (b-1)"},
		"blind and faulty":                {blind(node(incident(fault.XID79, fault.Reboot)), "x"), "", "", "faulty: xid-79 on GPU-b: why (b-1); driver: x"},
		"deaf":                            {deaf, "", "", "unknown: kernel-log: kernel log: permission denied"},
		"deaf, and that is skipped":       {deaf, "", "kernel-log", "healthy: 2 of 2 GPUs in order"},
		"no GPU":                          {gpuless, "", "", "healthy: no GPU"},
		"starting":                        {starting, "", "", "unknown: driver: has not answered"},
		"a call hangs":                    {stuck, "", "", "unknown: driver: nvmlDeviceGetName on GPU-b does not return"},
		"a daemon that sleeps":            {asleep, "", "", "unknown: driver: the daemon's word is 1m0s old"},
		"skipped":                         {node(incident(fault.XID95, fault.Reset)), "", "xid-9*", "healthy: 1 of 2 GPUs in order"},
		"only others":                     {node(incident(fault.XID95, fault.Reset)), "thermal,links-down", "", "healthy: 1 of 2 GPUs in order"},
		"only this":                       {node(incident(fault.XID95, fault.Reset), incident(fault.XID94, fault.Record)), "xid-95", "", "faulty: xid-95 on GPU-b: why (b-1)"},
		"what is not seen always counts":  {blind(node(), "x"), "thermal", "", "unknown: driver: x"},
		"links train":                     {training, "", "fabric-*", "degraded: links-down on GPU-a, GPU-b: links 0-17 down, and given until 2026-11-30T12:10:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			var f Filter
			for patterns, text := range map[*Patterns]string{&f.Only: c.only, &f.Skip: c.skip} {
				if text != "" {
					if err := patterns.Set(text); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := Judge(noon, c.status, f).Line(); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestOneLineWhateverIsSaid(t *testing.T) {
	r := Judge(noon, node(incident(fault.XID95, fault.Reset, func(i *remediate.Incident) { i.Verdict.Reason = "a\nb|c\x1b[31m" })), Filter{})
	r.Seconds = 0.1234
	if line := r.Line(); strings.ContainsAny(line, "\n\x1b") {
		t.Errorf("%q", line)
	}
	if got, want := r.Nagios(), "GPU CRITICAL - xid-95 on GPU-b: a b/c [31m (b-1) | time=0.123s findings=1 gpus=2 gpus_healthy=1"; got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got, want := Failed(Daemon, "x|y").Nagios(), "GPU UNKNOWN - daemon: x/y | time=0.000s findings=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOneReadableLine: with a driver that hangs on every GPU, and a fault of each beside
// others, the line names each check, and how many GPUs.
func TestOneReadableLine(t *testing.T) {
	s := node(incident(fault.Thermal, fault.Record), incident(fault.PowerBrake, fault.Record), incident(fault.PCIeDegraded, fault.Record))
	for n := range 8 {
		uuid := fmt.Sprintf("GPU-%08d-aaaa-bbbb-cccc-0123456789ab", n)
		s.Driver.Stuck = append(s.Driver.Stuck, "nvmlDeviceGetName on "+uuid)
		s.Incidents = append(s.Incidents, incident(fault.DriverHung, fault.Reboot, func(i *remediate.Incident) {
			i.Verdict.ID = fmt.Sprintf("11111111-%d", n)
			i.Verdict.Reason = "nvmlDeviceGetName does not return; " + strings.Repeat("and more of it; ", 30)
			i.Verdict.GPUs = []fault.Device{{UUID: uuid}}
		}))
	}
	r := Judge(noon, s, Filter{})
	line := r.Line()
	for _, want := range []string{
		"faulty: driver-hung on GPU-00000000-aaaa-bbbb-cccc-0123456789ab, GPU-00000001-aaaa-bbbb-cccc-0123456789ab, GPU-00000002-aaaa-bbbb-cccc-0123456789ab and 5 more: nvml",
		"… (11111111-0 and 7 more); driver: nvmlDeviceGetName on GPU-00000000-aaaa-bbbb-cccc-0123456789ab does not return and 7 more; ", "; and 1 more check",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in\n%s", want, line)
		}
	}
	if len(line) > 900 || len(r.Findings) != 19 {
		t.Errorf("%d bytes, %d findings: %s", len(line), len(r.Findings), line)
	}
}

func TestPatterns(t *testing.T) {
	for text, good := range map[string]bool{"xid-79": true, "xid-*": true, "driver, kernel-log": true, "links-down,sxid-12028": true,
		"sxid-12*": true, "nosuch-*": false, "xid-79,nosuch-?": false, "xid-7x": false, "": false, "[": false, "drivers": false, "xid-79,": false} {
		var p Patterns
		if err := p.Set(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
