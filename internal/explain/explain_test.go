package explain

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpuhealthd/gpuhealthd/test/golden"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// questions are those whose pages stand in testdata.
var questions = []struct{ file, question, driver string }{
	{"xid-79.txt", "79", ""},
	{"xid-31.txt", "XID31", ""},
	{"xid-154.txt", "xid 154", ""},
	{"xid-unknown.txt", "9999", ""},
	{"sxid-20034.txt", "sxid 20034", ""},
	{"remap-pending.txt", "remap-pending", ""},
	{"driver-mismatch.txt", "driver-mismatch", ""},
	{"links-down.txt", "links-down", ""},
	{"fabric-unhealthy.txt", "fabric-unhealthy", ""},
	{"fabric-manager-dead.txt", "fabric-manager-dead", ""},
	{"imex-down.txt", "imex-down", ""},
	{"stalled-engine.txt", "stalled-engine", ""},
	{"stalled-gpu.txt", "stalled-gpu", ""},
	{"wedged-job.txt", "wedged-job", ""},
	{"slow.txt", "slow", ""},
	{"stale-peer.txt", "stale-peer", ""},
	{"line-95.txt", "NVRM: Xid (PCI:0000:3b:00): 95, pid=7062, name=python3, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No", ""},
	{"line-74.txt", "[  812.004310] NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x0, 0x0, 0x2000, 0x0, 0x0, 0x0, 0x0)", ""},
	{"line-149.txt", "May 19 07:08:57 node-a kernel: NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x00000000)", "570.86.15"},
	{"line-94-reset.txt", "NVRM: Xid (PCI:0000:3b:00): 94, pid=7194, name=python3, Contained: DRAM (0x1, 0x2). RST: Yes, D-RST: No", ""},
	{"line-149-ignored.txt", "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x026505c6 0x00000000)", "570.86.15"},
	{"line-154-reboot.txt", "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", ""},
	{"line-154-none.txt", "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", ""},
	{"line-mig.txt", "NVRM: Xid (PCI:0000:3b:00 GPU-I:02 GPU-CI:01): 94, pid=7194, name=python3, Contained: CE User Channel (0x9). RST: No, D-RST: No", ""},
	{"line-119.txt", "NVRM: Xid (PCI:0000:3b:00): 119, pid=9, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20803032 0x58c).", ""},
	{"line-user.txt", "Nov  3 02:11:09 n1 agent[99]: NVRM: Xid (PCI:0000:81:00): 79, GPU has fallen off the bus.", ""},
	{"line-foreign.txt", "[    1.000000] usb 1-1: new high-speed USB device number 2 using xhci_hcd", ""},
	{"line-identity.txt", "NVRM: GPU at PCI:0000:9b:00: GPU-00000000-0000-0000-0000-000000000004", ""},
}

func TestPages(t *testing.T) {
	for _, q := range questions {
		e, err := Explain(q.question, q.driver)
		if err != nil {
			t.Fatalf("%s: %v", q.question, err)
		}
		var out bytes.Buffer
		if err := Text(&out, e, MaxWidth, replay.Style{}); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("testdata", q.file), out.String())
	}
}

func TestJSON(t *testing.T) {
	e, err := Explain(questions[16].question, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(e); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/line-95.json", out.String())
}

// Every number and class that the agent knows has a page that keeps its width
// and says what is done; only what is copied, a command or an address, may be wider.
func TestEveryPageIsWhole(t *testing.T) {
	var all []string
	for code := range 200 {
		all = append(all, string(fault.XIDClass(code)))
	}
	for _, r := range fault.Rules() {
		all = append(all, string(r.Class))
	}
	for code := 10000; code < 30000; code++ {
		if _, ok := xidparse.LookupSXid(code); ok {
			all = append(all, string(fault.SXIDClass(code)))
		}
	}
	for _, question := range all {
		e, err := Explain(question, "")
		if err != nil || e.Agent == nil || e.Meaning.Text == "" || len(e.Confirm) == 0 || len(e.Documents) == 0 {
			t.Errorf("%s: %+v, %v", question, e, err)
			continue
		}
		for _, width := range []int{40, 80, 300} {
			var out bytes.Buffer
			if err := Text(&out, e, width, replay.Style{}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				limit := min(max(width, minWidth), MaxWidth)
				if utf8.RuneCountInString(line) > limit && !isCopied(e, line) {
					t.Errorf("%s: wider than %d: %q", question, limit, line)
				}
			}
		}
	}
}

// A fault of work has words of its own: whose it is, what is done, and how to see it, and
// none about hardware but where hardware is suspected.
func TestFaultsOfWork(t *testing.T) {
	for class := range workloads {
		rule := fault.RuleFor(class)
		e, err := Explain(string(class), "")
		if err != nil || e.Meaning.Note == "" || len(e.Agent.Why) == 0 || len(e.Confirm) < 2 {
			t.Fatalf("%s: %+v, %v", class, e, err)
		}
		if hardware := e.Meaning.AtFault == "gpu"; hardware != rule.Hardware {
			t.Errorf("%s: at fault: %s, and the rule says hardware: %t", class, e.Meaning.AtFault, rule.Hardware)
		}
		if slices.Contains(e.Documents, xidDocument) || slices.Contains(e.Confirm, recoveryCheck) {
			t.Errorf("%s: %v %v", class, e.Confirm, e.Documents)
		}
	}
}

func isCopied(e Explanation, line string) bool {
	for _, c := range e.Confirm {
		if strings.TrimSpace(line) == c.Command {
			return true
		}
	}
	return strings.Contains(line, "https://")
}

func TestSpellings(t *testing.T) {
	for question, want := range map[string]string{
		"79": "XID 79", "xid 79": "XID 79", "XID-79": "XID 79", " xid79 ": "XID 79", "20034": "SXid 20034", "SXid 20034": "SXid 20034",
		"63": "XID 63", "0": "XID 0", "gpu-lost": "gpu-lost", "usb 1-1: reset": "a line without a fault",
	} {
		if e, err := Explain(question, ""); err != nil || e.Subject != want {
			t.Errorf("%q is %q, %v; want %q", question, e.Subject, err, want)
		}
	}
	for _, question := range []string{"", "  ", "foo", "-1", "xid-", "xid x", "99999999999999999999"} {
		if e, err := Explain(question, ""); err == nil {
			t.Errorf("%q is understood as %q", question, e.Subject)
		}
	}
}

func FuzzExplain(f *testing.F) {
	for _, q := range questions {
		f.Add(q.question, q.driver)
	}
	f.Fuzz(func(t *testing.T, question, driver string) {
		e, err := Explain(question, driver)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Text(&out, e, 80, replay.Style{}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), "\x1b\x07\r") {
			t.Errorf("%q writes to the terminal's control", question)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	})
}
