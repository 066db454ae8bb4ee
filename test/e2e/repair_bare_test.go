package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestARepairOnBareMetal: without any API server a program of the site ends the work,
// and the agent resets the GPU.
func TestARepairOnBareMetal(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	w := equip(t, d)
	sick := d.GPU(2)
	work := w.hold("python3", 2, "")
	other := w.hold("python3", 5, "")
	deed := filepath.Join(w.dir, "deed.json")
	d.Config.Repair.Drain.Mode = remediate.MeansCommand
	d.Config.Repair.Drain.Command = []string{"sh", "-c", fmt.Sprintf("cat >%s && kill %d", deed, work.PID())}
	d.StartReady()
	d.Must(d.Sim.Recovery(sick.UUID, 1))
	d.Say(daemontest.XID(sick.PCI, daemontest.Uncontained))
	daemontest.Await(t, "the incident is over", func() bool {
		s := d.Status()
		return len(s.Incidents) == 0 && len(s.History) == 1
	})

	var asked remediate.Deed
	must(t, json.Unmarshal([]byte(read(t, deed)), &asked))
	if asked.Kind != remediate.StepDrain || asked.Fault != fault.XID95 || len(asked.GPUs) != 1 || asked.GPUs[0].UUID != sick.UUID {
		t.Errorf("the program was asked for %+v", asked)
	}
	if got := w.resets(); !slices.Equal(got, []string{busID(sick)}) {
		t.Errorf("resets of %v", got)
	}
	if on, err := d.Sim.Persistence(sick.UUID); err != nil || !on {
		t.Errorf("persistence mode is on: %t, %v", on, err)
	}
	select {
	case <-other.Done():
		t.Error("the work on another GPU was ended")
	default:
	}
}
