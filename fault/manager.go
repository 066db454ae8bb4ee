package fault

import (
	"slices"
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
		if e != nil && len(e.Unreset) == 0 && e.Cured.IsZero() {
			j.managerBack(now, e)
		}
	case j.managed && !j.switchless && j.OwnSwitches():
		e = j.shown(now, xidparse.PCI{}, FabricManagerDead)
		e.Unreset = nil
		e.explain("no nv-fabricmanager among the processes")
	}
}

// managerBack takes in that a fabric manager runs again. GPUs that went on without
// one have lost multicast (NVLS), though all that they tell is in order: for them it
// is over when each of them was reset.
func (j *Judge) managerBack(now time.Time, e *episode) {
	e.Unreset = nil
	for pci := range j.devices {
		if completed(j.fabricOf(pci)) && !e.Rebooted && j.OwnSwitches() {
			e.Unreset = append(e.Unreset, pci)
		}
	}
	slices.SortFunc(e.Unreset, comparePCI)
	if len(e.Unreset) == 0 {
		e.Cured = now
	}
}

// wasReset takes in that a GPU was reset, is lost, or had its driver loaded again.
func (j *Judge) wasReset(now time.Time, pci xidparse.PCI) {
	e := j.open[key{class: FabricManagerDead}]
	if e == nil || !slices.Contains(e.Unreset, pci) {
		return
	}
	e.Unreset = slices.DeleteFunc(e.Unreset, func(p xidparse.PCI) bool { return p == pci })
	if len(e.Unreset) == 0 {
		e.Cured = now
	}
}

// fabricOf is what a GPU said last of its fabric, nil for nothing.
func (j *Judge) fabricOf(pci xidparse.PCI) *nvlink.Fabric {
	if d := j.devices[pci]; d != nil && d.Links.last != nil {
		return d.Links.last.Fabric
	}
	return nil
}

// OwnSwitches says whether the node is known to have the switches that a fabric
// manager of its own sets up.
func (j *Judge) OwnSwitches() bool {
	t := j.shape()
	return !t.MultiNode() && (t.OneBaseboard || len(t.Baseboards) > 0)
}

// refineManager says how far a fabric manager's end reaches: the baseboard with the
// switches that it sets up. Where none is known to be there, a person looks.
func (j *Judge) refineManager(e *episode, v *Verdict) []string {
	if e.Class != FabricManagerDead {
		return nil
	}
	if !j.OwnSwitches() {
		v.hold()
		return []string{"no NVSwitch of the node's own is known"}
	}
	anew := len(e.Unreset) > 0
	r := nvlink.Failure{NoManager: !anew, NewManager: anew}.Judge(j.shape(), nil)
	if v.Radius = extents[r.Extent]; !e.Weighed {
		v.hold()
		return []string{"it is given " + managerWindow.String() + " to be started again"}
	}
	if anew {
		v.Action = Reset
		return []string{r.Why}
	}
	return nil
}
