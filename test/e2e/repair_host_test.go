package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
)

// shortest is the shortest deadline that the configuration takes.
const shortest = config.Duration(10 * time.Second)

// workshop is what a daemon in mode repair finds on its host: processes, and the
// driver's tool.
type workshop struct {
	t   testing.TB
	d   *daemontest.Daemon
	dir string
}

// equip has a daemon repair by commands on a host of its own, where nothing takes
// long. GPUs are reset one by one, since a fabric manager runs.
func equip(t testing.TB, d *daemontest.Daemon) *workshop {
	t.Helper()
	w := &workshop{t: t, d: d, dir: t.TempDir()}
	must(t, os.Mkdir(w.proc(), 0o755))
	d.Config.Mode = remediate.Repair
	r := &d.Config.Repair
	r.Drain.Deadline, r.Reset.Deadline, r.Reboot.Deadline, r.Settle = 6*shortest, 6*shortest, 6*shortest, shortest
	r.Reset.Mode, r.Reset.Program = remediate.MeansCommand, filepath.Join(w.dir, "nvidia-smi")
	r.Proc, r.Dev = w.proc(), filepath.Dir(d.Sim.Device("0"))
	w.smi("", "")
	w.run("nv-fabricmanager", os.DevNull, "")
	return w
}

// proc is the host's process file system: that of a machine whose every process may
// be looked into, which this one need not be.
func (w *workshop) proc() string { return filepath.Join(w.dir, "proc") }

// smi makes the driver's tool note each reset that it is asked for, and do something
// right before and right after it, in the shell.
func (w *workshop) smi(before, after string) {
	w.t.Helper()
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in --gpu-reset) echo $3 >>%s\n%s\nesac\n%s \"$@\"\nstatus=$?\ncase $1 in --gpu-reset)\n%s\nesac\nexit $status\n",
		filepath.Join(w.dir, "resets"), before, filepath.Join(programs.Library(w.t), "nvidia-smi"), after)
	// Another file each time: the old one may be running.
	fresh := filepath.Join(w.dir, "nvidia-smi.new")
	must(w.t, os.WriteFile(fresh, []byte(script), 0o755))
	must(w.t, os.Rename(fresh, w.d.Config.Repair.Reset.Program))
}

// resets are the addresses that the tool was asked to reset, each time in one word.
func (w *workshop) resets() []string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "resets"))
	if !os.IsNotExist(err) {
		must(w.t, err)
	}
	return strings.Fields(string(text))
}

// reboots lets the agent reboot the host: the program notes it, and the test does it.
func (w *workshop) reboots() {
	r := &w.d.Config.Repair.Reboot
	r.Mode, r.Command = remediate.MeansCommand, []string{"touch", filepath.Join(w.dir, "reboot")}
}

// awaitReboot returns once the agent has had the host rebooted, has been ended with it
// and runs in the next boot; before is done in between.
func (w *workshop) awaitReboot(before func()) {
	w.t.Helper()
	asked := filepath.Join(w.dir, "reboot")
	daemontest.Await(w.t, "the host is rebooted", func() bool {
		_, err := os.Stat(asked)
		return err == nil
	})
	must(w.t, os.Remove(asked))
	w.d.Stop()
	before()
	must(w.t, w.d.Sim.Reboot())
	w.d.StartReady()
}

// busID is a GPU's address as the tool is given it.
func busID(g node.GPU) string { return g.PCI + ".0" }

// repairHost is a host in mode repair in a cluster, with its kubelet. Its pods are in
// a namespace of the node's name.
type repairHost struct {
	*host
	*workshop
	t       testing.TB
	kubelet *kubelet.Kubelet
}

// inRepair prepares a daemon in mode repair, with no more rights than deploy/ gives.
// Nobody reboots the host.
func inRepair(t testing.TB) *repairHost {
	t.Helper()
	cluster := shared.Cluster(t)
	h := &repairHost{t: t, host: onCluster(t, cluster), kubelet: kubelet.Start(t)}
	programs.DeployRepair(t, cluster)
	h.workshop = equip(t, h.Daemon)
	h.Config.Repair.Drain.KubeletSocket = h.kubelet.Socket
	must(t, cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+h.name+"}}")))
	return h
}

// operands are the GPU operator's labels of services that hold GPUs.
const operands = `{"metadata":{"labels":{"nvidia.com/gpu.deploy.dcgm":"true","nvidia.com/gpu.deploy.device-plugin":"true","nvidia.com/gpu.deploy.dcgm-exporter":"false"}}}`

// restored fails the test unless all that a reset changes is as it was.
func (h *repairHost) restored(gpu int) {
	h.t.Helper()
	if on, err := h.Sim.Persistence(h.GPU(gpu).UUID); err != nil || !on {
		h.t.Errorf("persistence mode of GPU %d is on: %t, %v", gpu, on, err)
	}
	for name, want := range map[string]string{"dcgm": "true", "device-plugin": "true", "dcgm-exporter": "false"} {
		if got := h.object().Labels["nvidia.com/gpu.deploy."+name]; got != want {
			h.t.Errorf("the operator's label %s is %q, want %q", name, got, want)
		}
	}
}

// states are those that the Node has shown, in their order, a state that lasts once.
func (h *repairHost) states(seen *history) (states []string) {
	h.t.Helper()
	for _, v := range h.versions(seen) {
		state := v.Labels["gpuhealthd.io/state"]
		if len(states) == 0 || states[len(states)-1] != state {
			states = append(states, state)
		}
	}
	return states
}
