package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// openIncident finds the open incident of a class about a GPU, or with an empty
// uuid of that class at all.
func openIncident(s agent.Status, class fault.Class, uuid string) (found remediate.Incident, ok bool) {
	for _, i := range s.Incidents {
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
		found, ok = openIncident(d.Status(), class, uuid)
		return ok
	})
	return found
}

// awaitOver returns once there is no such incident.
func awaitOver(t *testing.T, d *daemontest.Daemon, class fault.Class, uuid string) {
	t.Helper()
	daemontest.Await(t, string(class)+" is over for "+uuid, func() bool {
		found, ok := openIncident(d.Status(), class, uuid)
		return !ok || found.State == remediate.Probation
	})
}

// polls counts the driver's whole answers.
func polls(d *daemontest.Daemon) int { return d.Status().Driver.Polls }

// awaitPolls returns when there are n more of them.
func awaitPolls(t *testing.T, d *daemontest.Daemon, n int) {
	t.Helper()
	from := polls(d)
	daemontest.Await(t, "the driver is polled", func() bool { return polls(d) >= from+n })
}

// inject does something to the node right behind a poll, so that the next one
// finds it whole, and gives the number of the last poll that cannot have.
func inject(t *testing.T, d *daemontest.Daemon, do func()) (unseen int) {
	t.Helper()
	awaitPolls(t, d, 1)
	do()
	s := d.Status().Driver
	if time.Since(s.Answered) > time.Duration(d.Config.NVML.Period)/2 {
		return s.Polls + 1 // on a slow machine another may have been under way
	}
	return s.Polls
}

// awaitSeen returns the incident once it is open, and fails the test where it is
// not open behind the poll of that number.
func awaitSeen(t *testing.T, d *daemontest.Daemon, by int, class fault.Class, uuid string) (found remediate.Incident) {
	t.Helper()
	daemontest.Await(t, string(class)+" is open for "+uuid, func() (ok bool) {
		s := d.Status()
		if found, ok = openIncident(s, class, uuid); !ok && s.Driver.Polls >= by {
			t.Fatalf("%s of %s is not open after %d polls, and should be after %d", class, uuid, s.Driver.Polls, by)
		}
		return ok
	})
	return found
}

// cordoned says whether the node was taken out of service.
func cordoned(d *daemontest.Daemon) bool { return strings.Contains(d.Log(), "would cordon the node") }
