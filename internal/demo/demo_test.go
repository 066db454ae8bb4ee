package demo

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

var programs daemontest.Programs

func TestMain(m *testing.M) {
	defer programs.Remove()
	m.Run()
}

// scenes are what each act must bring, in this order.
var scenes = []string{
	"starts", "would label gpuhealthd.io/state=healthy",
	"■ A program touches memory", "heard    NVRM: Xid (PCI:0000:1b:00): 31,", "verdict  xid-31: record, radius process, on GPU 0", "event    ApplicationFault",
	"■ Two bits flip", "verdict  xid-48: reset, radius gpu, on GPU 2 (0000:52:00)", "would cordon the node",
	"■ Somebody resets that GPU", "verdict  xid-48: none", "would uncordon the node",
	"■ Another GPU falls off the bus", "verdict  xid-79: reboot, radius node, on GPU 5 (0000:c3:00) (8 GPUs inside)",
	"would taint gpuhealthd.io/quarantine=xid-79:NoSchedule",
	"■ What gpuhealthd status shows", "quarantined: xid-79, radius node", "reboot   requested", "That is the play.",
}

// TestDemo plays the whole demo as make demo does; it takes its 12 seconds.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary(t), "demo", "--sim", programs.Library(t))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, want := range scenes {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("no %q behind what came before it:\n%s", want, out)
		}
		rest = after
	}
	for sc := bufio.NewScanner(strings.NewReader(string(out))); sc.Scan(); {
		if n := utf8.RuneCountInString(sc.Text()); n > 120 {
			t.Errorf("a line of %d columns: %s", n, sc.Text())
		}
	}
	if strings.Contains(string(out), "\x1b") {
		t.Error("colours, and nobody's terminal")
	}
}
