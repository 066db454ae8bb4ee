package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestAnIncidentLeavesEvidence: a fault between other programs' lines, a daemon
// that is killed, and the repair; what a person then reads of it, with and without
// a daemon, and what goes to a vendor.
func TestAnIncidentLeavesEvidence(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	gpu := d.GPU(3)
	d.Say("pcieport 0000:3a:01.0: AER: Corrected error received")
	d.Must(d.Sim.Recovery(gpu.UUID, 1))
	d.Say(daemontest.XID(gpu.PCI, daemontest.Uncontained))
	d.Say("eth0: renamed from veth12")
	i := awaitOpen(t, d, fault.XID95, gpu.UUID)
	folder := filepath.Join(filepath.Dir(d.Config.State.Path), "evidence")
	holds := func(texts ...string) {
		t.Helper()
		daemontest.Await(t, "the bundle has "+strings.Join(texts, ", "), func() bool {
			bundle, err := os.ReadFile(filepath.Join(folder, i.Verdict.ID+".jsonl"))
			for _, text := range texts {
				if err != nil || !strings.Contains(string(bundle), text) {
					return false
				}
			}
			return true
		})
	}
	holds(daemontest.Uncontained, "AER: Corrected error", "veth12", `"kind":"sample"`, `"status":"done"`)
	d.Kill()
	if text := d.Call("events", "show", i.Verdict.ID, "--dir", folder); !strings.Contains(text, daemontest.Uncontained) || !strings.Contains(text, "cordon is done") {
		t.Errorf("after it was killed:\n%s", text)
	}

	d.StartReady()
	d.Must(d.Sim.Recovery(gpu.UUID, 0))
	d.Say(daemontest.XID(gpu.PCI, daemontest.NoneWanted))
	daemontest.Await(t, "the incident is over", func() bool { return len(d.Status().Incidents) == 0 })
	holds(`"kind":"end"`)
	for _, line := range strings.Split(strings.TrimSpace(d.Call("events", "--url", d.URL())), "\n")[1:] {
		if !strings.Contains(line, i.Verdict.ID) || !strings.Contains(line, "over") || strings.Contains(line, "damaged") {
			t.Errorf("the list says %q", line)
		}
	}
	text := d.Call("events", "show", i.Verdict.ID[:4], "--url", d.URL())
	for _, want := range []string{
		"driver   [", daemontest.Uncontained, "kernel   [", "AER: Corrected error", "verdict  → xid-95: reset", "cordon is done", "event    ResetRequested",
		"the node is " + string(remediate.Probation), "the incident is over", "serial", gpu.Part, "no value differs",
	} {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	archive := filepath.Join(t.TempDir(), "ticket.tar.gz")
	d.Call("events", "export", i.Verdict.ID, "-f", archive, "--url", d.URL())
	listed, err := exec.Command("tar", "-tzf", archive).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.txt", "report.txt", "incident.jsonl", "kernel.log"} {
		if !strings.Contains(string(listed), "gpuhealthd-"+i.Verdict.ID+"/"+name+"\n") {
			t.Errorf("no %s in %s", name, listed)
		}
	}
}
