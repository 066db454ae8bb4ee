package fault

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// managerWindow is how long a fabric manager may be away before the baseboard is
// taken out of service: systemd starts one again that fell.
const managerWindow = 30 * time.Second

// Manager says whether a fabric manager runs, by the list of processes.
type Manager struct{ Runs bool }

func (Manager) isFact() {}

// manager judges a fabric manager that is not there. One that was never seen may
// run elsewhere: a guest's is the host's, a rack's is the switch trays'.
func (j *Judge) manager(now time.Time, m Manager) {
	e := j.open[key{class: FabricManagerDead}]
	switch {
	case m.Runs:
		j.managed, j.switchless = true, false
		if e != nil && e.Cured.IsZero() {
			e.Cured = now
		}
	case j.managed && !j.switchless && j.ownSwitches():
		j.shown(now, xidparse.PCI{}, FabricManagerDead).explain("no nv-fabricmanager among the processes")
	}
}

// ownSwitches says whether the node is known to have the switches that a fabric
// manager of its own sets up.
func (j *Judge) ownSwitches() bool {
	t := j.shape()
	return !t.MultiNode() && (t.OneBaseboard || len(t.Baseboards) > 0)
}

// refineManager says how far a fabric manager's end reaches: the baseboard with the
// switches that it sets up. Where none is known to be there, a person looks.
func (j *Judge) refineManager(e *episode, v *Verdict) []string {
	if e.Class != FabricManagerDead {
		return nil
	}
	r := nvlink.Failure{NoManager: true}.Judge(j.shape(), nil)
	if r.Extent != nvlink.ExtentBaseboard || !j.ownSwitches() {
		v.hold()
		return []string{"no NVSwitch of the node's own is known"}
	}
	if v.Radius = Baseboard; !e.Weighed {
		v.hold()
		return []string{"it is given " + managerWindow.String() + " to be started again"}
	}
	return nil
}
