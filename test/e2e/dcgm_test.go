package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// engine is where the simulated engine is; no port is opened.
const engine = "localhost:5555"

// withDCGM prepares a daemon that asks an engine, which is not started.
func withDCGM(t *testing.T) *daemontest.Daemon {
	t.Helper()
	d := programs.New(t)
	d.Config.DCGM.Enabled, d.Config.DCGM.Address = true, engine
	d.Config.DCGM.Period, d.Config.DCGM.Deadline = config.Duration(time.Second), config.Duration(time.Second)
	return d
}

// awaitEngine returns once DCGM is connected.
func awaitEngine(t *testing.T, d *daemontest.Daemon) {
	t.Helper()
	daemontest.Await(t, "DCGM answers", func() bool { s := d.Status().DCGM; return s.Version != "" && s.Absent == "" })
}

// TestDCGMsOpinion is recorded while it stands alone, and acted on once the
// driver says the same.
func TestDCGMsOpinion(t *testing.T) {
	t.Parallel()
	d := withDCGM(t)
	d.Must(d.Sim.DCGM().Start(engine))
	d.StartReady()
	awaitEngine(t, d)
	alone, agreed := d.GPU(3), d.GPU(5)
	for _, uuid := range []string{alone.UUID, agreed.UUID} {
		d.Must(d.Sim.DCGM().Field(uuid, dcgm.FieldRemapFailed, "1"))
		v := awaitOpen(t, d, fault.RemapFailed, uuid).Verdict
		if v.Acts() || !strings.Contains(v.Reason, "held by DCGM alone") || !strings.HasPrefix(strings.Join(v.Evidence, "\n"), "DCGM: ") {
			t.Errorf("verdict %+v", v)
		}
	}
	if strings.Contains(d.Log(), "would cordon") {
		t.Error("DCGM's word alone took the node out of service")
	}

	d.Must(d.Sim.Remap(agreed.UUID, "failed"))
	daemontest.Await(t, "both witnesses together act", func() bool {
		found, _ := openIncident(d.Status(), fault.RemapFailed, agreed.UUID)
		return found.Verdict.Action == fault.Reset && found.Contained
	})
	d.Must(d.Sim.DCGM().Field(alone.UUID, dcgm.FieldRemapFailed, ""))
	awaitOver(t, d, fault.RemapFailed, alone.UUID)
	if _, open := openIncident(d.Status(), fault.RemapFailed, agreed.UUID); !open {
		t.Error("what the driver holds too is over")
	}
}

// TestAnEngineWithoutGPUs calls all of them healthy, which is worth nothing: it is
// told to be away until it lists them.
func TestAnEngineWithoutGPUs(t *testing.T) {
	t.Parallel()
	d := withDCGM(t)
	d.Must(d.Sim.DCGM().Start(engine))
	d.Must(d.Sim.DCGM().Set("driver", "off"))
	d.StartReady()
	awaitAbsent(t, d, "the engine lists no GPU")
	d.Must(d.Sim.DCGM().Set("driver", "on"))
	awaitEngine(t, d)
	held := d.GPU(3).UUID
	d.Must(d.Sim.DCGM().Field(held, dcgm.FieldRemapFailed, "1"))
	awaitOpen(t, d, fault.RemapFailed, held)
	d.Must(d.Sim.DCGM().Set("driver", "off"))
	awaitAbsent(t, d, "the engine lists no GPU")
	awaitOver(t, d, fault.RemapFailed, held) // nobody holds it any more
	if n := len(d.Status().Incidents); n > 1 || cordoned(d) {
		t.Errorf("incidents %+v", d.Status().Incidents)
	}
}

// awaitAbsent returns once DCGM is told to be away in these words.
func awaitAbsent(t *testing.T, d *daemontest.Daemon, words string) {
	t.Helper()
	daemontest.Await(t, "DCGM is told to be away: "+words, func() bool { return strings.Contains(d.Status().DCGM.Absent, words) })
	if up := d.Metric("probe_up", `probe="dcgm"`); up != 0 {
		t.Errorf("%s: metric probe_up is %v", words, up)
	}
}

// TestAnEngineInTrouble: it never starts, is of another version, is stopped, killed
// and started again, and refuses a check. Each is told, and none is a fault of
// the node.
func TestAnEngineInTrouble(t *testing.T) {
	t.Parallel()
	d := withDCGM(t)
	d.StartReady()
	awaitAbsent(t, d, "dcgmConnect")
	d.Must(d.Sim.DCGM().Start(engine))
	d.Must(d.Sim.DCGM().Set("mismatch", "on")) // DCGM 3
	awaitAbsent(t, d, "-12")
	d.Must(d.Sim.DCGM().Set("mismatch", "off"))
	awaitEngine(t, d)
	d.Must(d.Sim.DCGM().Stop())
	awaitAbsent(t, d, "does not return")
	judgesAllTheSame(t, d)
	d.Must(d.Sim.DCGM().Continue())
	awaitEngine(t, d)
	d.Must(d.Sim.DCGM().Kill())
	awaitAbsent(t, d, "-21")
	d.Must(d.Sim.DCGM().Start(engine))
	awaitEngine(t, d)
	d.Must(d.Sim.DCGM().Fail("dcgmHealthCheck", -34)) // somebody else checks
	d.AwaitLog("a call of DCGM failed", "dcgmHealthCheck", "-34")
	if incidents := d.Status().Incidents; len(incidents) != 1 || !d.Ready() {
		t.Errorf("ready %t, incidents %+v", d.Ready(), incidents)
	}
}
