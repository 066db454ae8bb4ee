package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// onRealKernel lets the host hear this machine's kernel log, if the test may
// write to that.
func (h *host) onRealKernel() {
	h.t.Helper()
	if os.Getenv(daemontest.KmsgVariable) == "" {
		h.t.Skipf("writes to this machine's /dev/kmsg: set %s=1 to run", daemontest.KmsgVariable)
	}
	h.Config.KernelLog.Path, h.Config.KernelLog.BootIDPath = kernlog.DefaultPath, kernlog.DefaultBootIDPath
	h.Config.KernelLog.AcceptUserspace = true
}

// noMachine is an address that no machine has, so that an agent which watches
// this very machine blames none of its GPUs. Each test has its own: all of them
// hear the same log, and others write to it as well.
func noMachine(device int) string { return fmt.Sprintf("fffe:%02x:00", device) }

// incident finds the open incident of a GPU.
func (h *host) incident(pci string) (found remediate.Incident) {
	h.t.Helper()
	for _, i := range h.Status().Incidents {
		if slices.ContainsFunc(i.Verdict.GPUs, func(g fault.Device) bool { return g.PCI.String() == pci }) {
			found = i
		}
	}
	return found
}

// awaitIncident returns once the Node is out of service for a GPU's incident.
func (h *host) awaitIncident(pci string) remediate.Incident {
	h.t.Helper()
	daemontest.Await(h.t, "the Node is contained for "+pci, func() bool { return h.incident(pci).Contained })
	if n := h.object(); !n.Spec.Unschedulable || !contained(n) {
		h.t.Errorf("cordon %t, taints %v, annotations %v", n.Spec.Unschedulable, n.Spec.Taints, n.Annotations)
	}
	return h.incident(pci)
}

func TestFromTheRealKernelLogToTheCordon(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.onRealKernel()
	h.StartReady()
	pci := noMachine(0x21)
	must(t, daemontest.WriteKmsg(daemontest.XID(pci, daemontest.OffTheBus)))
	before := h.awaitIncident(pci)
	h.AwaitSettled()
	h.Kill()
	h.StartReady()
	if after := h.awaitIncident(pci); after.Verdict.ID != before.Verdict.ID || after.Verdict.Count != before.Verdict.Count {
		t.Errorf("incident %s of %d lines, %s of %d before the restart", after.Verdict.ID, after.Verdict.Count, before.Verdict.ID, before.Verdict.Count)
	}
	h.AwaitSettled()
	told := slices.DeleteFunc(h.events("FaultDetected"), func(e eventsv1.Event) bool { return !strings.Contains(e.Note, pci) })
	if len(told) != 1 {
		t.Errorf("%d events: %v", len(told), told)
	}
}

func TestAForgedLineOnTheRealKernelLogDoesNothing(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.onRealKernel()
	h.Config.KernelLog.AcceptUserspace = false
	h.inService()
	foreign := h.Metric("kernel_log_foreign_records_total")
	must(t, daemontest.WriteKmsg(daemontest.XID(noMachine(0x22), daemontest.OffTheBus)))
	h.AwaitMetric(foreign+1, "kernel_log_foreign_records_total")
	h.staysAsItIs()
	if n := h.object(); n.Spec.Unschedulable || len(h.Status().Incidents) > 0 {
		t.Errorf("a line of user space was believed: %+v", h.Status().Incidents)
	}
}

// TestAForgedLineDoesNothing needs no kernel: facility 1 is user space's.
func TestAForgedLineDoesNothing(t *testing.T) {
	t.Parallel()
	d := programs.New(t)
	d.StartReady()
	log, err := os.OpenFile(d.Sim.KmsgPath(), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer log.Close()
	_, err = fmt.Fprintf(log, "12,0,1,-;%s\n", daemontest.XID(d.GPU(5).PCI, daemontest.OffTheBus))
	must(t, err)
	d.AwaitMetric(1, "kernel_log_foreign_records_total")
	// What comes behind it in the log is judged, and it alone.
	d.Say(daemontest.XID(d.GPU(2).PCI, daemontest.Uncontained))
	d.AwaitLog("NodeQuarantined", "xid-95")
	if incidents := d.Status().Incidents; len(incidents) != 1 {
		t.Errorf("incidents %+v", incidents)
	}
}

// realFlood is as many lines as the kernel's ring holds several times over.
const realFlood = 5000

func TestAFloodOnTheRealKernelLogIsAccountedFor(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.onRealKernel()
	h.StartReady()
	pci, before := noMachine(0x23), h.Metric("kernel_log_lost_records_total")
	for range realFlood {
		must(t, daemontest.WriteKmsg(daemontest.XID(pci, daemontest.Uncontained)))
	}
	h.awaitIncident(pci)
	daemontest.Await(t, "every line is heard or counted as lost", func() bool {
		lost := h.Metric("kernel_log_lost_records_total") - before
		return float64(h.incident(pci).Verdict.Count)+lost >= realFlood
	})
}
