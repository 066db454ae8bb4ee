package e2e

import (
	"slices"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// openIncident finds the open incident of a class about a GPU, or with an empty
// uuid of that class at all.
func openIncident(d *daemontest.Daemon, class fault.Class, uuid string) (found remediate.Incident, ok bool) {
	for _, i := range d.Status().Incidents {
		about := func(g fault.Device) bool { return g.UUID == uuid }
		if i.Verdict.Class == class && (uuid == "" || slices.ContainsFunc(i.Verdict.GPUs, about)) {
			return i, true
		}
	}
	return remediate.Incident{}, false
}

// awaitOpen returns the incident once it is open.
func awaitOpen(t *testing.T, d *daemontest.Daemon, class fault.Class, uuid string) (found remediate.Incident) {
	t.Helper()
	daemontest.Await(t, string(class)+" is open for "+uuid, func() (ok bool) {
		found, ok = openIncident(d, class, uuid)
		return ok
	})
	return found
}

// awaitOver returns once there is no such incident.
func awaitOver(t *testing.T, d *daemontest.Daemon, class fault.Class, uuid string) {
	t.Helper()
	daemontest.Await(t, string(class)+" is over for "+uuid, func() bool {
		found, ok := openIncident(d, class, uuid)
		return !ok || found.State == remediate.Probation
	})
}

// polls counts the driver's answers for one GPU.
func polls(d *daemontest.Daemon) float64 {
	return d.Metric("probe_call_seconds_count", `call="nvmlDeviceGetHandleByIndex"`) / 8
}

// awaitSeen returns the incident once it is open, and fails the test where it
// is not after two polls. The poll under way may have asked before, and what is
// read here is one behind the other: both are granted.
func awaitSeen(t *testing.T, d *daemontest.Daemon, since float64, class fault.Class, uuid string) (found remediate.Incident) {
	t.Helper()
	daemontest.Await(t, string(class)+" is open for "+uuid, func() (ok bool) {
		passed := polls(d) - since
		if found, ok = openIncident(d, class, uuid); !ok && passed > 4 {
			t.Fatalf("%s of %s is not open after %.0f polls", class, uuid, passed)
		}
		return ok
	})
	return found
}
