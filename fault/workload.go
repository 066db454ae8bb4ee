package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Workload is what runs on GPUs: a pod as namespace/name, or what the configuration
// names, which has no UID.
type Workload struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// ofWorkload finds or opens the episode of a workload. What is seen now needs no
// other proof.
func (j *Judge) ofWorkload(now time.Time, c Class, w Workload, gpus []string) *episode {
	e := j.find(now, key{class: c, workload: w}, Observation{})
	if e.Count == 0 {
		e.GPUs = slices.Clone(gpus)
	}
	e.add(now, "")
	e.Confirmed, e.How, e.Anew = true, "", false
	return e
}

// getsOn ends an episode of a workload that gets on.
func (j *Judge) getsOn(now time.Time, w Workload, c Class) { j.endFor(now, w, c, "it gets on") }

func (j *Judge) endFor(now time.Time, w Workload, c Class, how string) {
	if e := j.open[key{class: c, workload: w}]; e != nil && e.Cured.IsZero() {
		j.cureWorkload(now, e, how)
	}
}

// overForWorkload ends an episode of a workload that was started anew, or is gone. A
// stall that the engine's end has ended may come again, and is remembered of the
// GPUs.
func (j *Judge) overForWorkload(now time.Time, e *episode, how string) {
	if !e.Cured.IsZero() {
		return
	}
	if e.Sure && e.Root == nil && !e.Cold {
		for _, d := range j.on(e.GPUs) {
			j.device(d.PCI).Stalled = now
		}
	}
	j.endedAnew(now, e, how)
}

// endedAnew ends an episode of a workload that was started anew, or is gone.
func (j *Judge) endedAnew(now time.Time, e *episode, how string) {
	j.cureWorkload(now, e, how)
	e.Anew = true
}

// cureWorkload ends an episode. One of a GPU is watched for as long as others are.
func (j *Judge) cureWorkload(now time.Time, e *episode, how string) {
	e.Cured, e.How = now, how
	if !e.rule.Hardware {
		e.Clean = j.cfg.CleanPolls
	}
}

// refineServed says what is known of a workload. Without the GPUs' word a stall is
// only recorded.
func (j *Judge) refineServed(e *episode, v *Verdict) []string {
	if e.Workload == (Workload{}) {
		return nil
	}
	v.Anew = e.Anew
	switch {
	case e.Class == StalledEngine && !e.Sure:
		v.Action = Record
	case e.Class == StalePeer && j.cfg.RestartStale && e.Waits:
		v.Later = Restart
		return append(slices.Clone(e.Evidence), fmt.Sprintf("it is restarted once all prefill workers of its group have been ready for %v", j.cfg.Rollout.Settle))
	case e.Class == StalePeer && j.cfg.RestartStale:
		v.Action = Restart
	}
	if mig(e.GPUs) && len(j.on(e.GPUs)) > 0 {
		v.Radius = max(v.Radius, MIG)
	}
	return e.Evidence
}

// reachWorkload names the GPUs of a workload.
func (j *Judge) reachWorkload(e *episode, v *Verdict) {
	v.Workloads = []Workload{e.Workload}
	v.GPUs = j.on(e.GPUs)
	v.Affected, v.Victims = v.GPUs, []Device{}
}

// mig says whether some GPUs are MIG instances, as NVML names them.
func mig(gpus []string) bool {
	return slices.ContainsFunc(gpus, func(uuid string) bool { return strings.HasPrefix(uuid, "MIG-") })
}

// on gives the devices that some UUIDs are of, an instance's its GPU. Those that
// nobody has told are left out.
func (j *Judge) on(uuids []string) []Device {
	ds := []Device{}
	for pci, d := range j.devices {
		if slices.ContainsFunc(uuids, func(uuid string) bool {
			return uuid != "" && (uuid == d.UUID || slices.Contains(d.Instances, uuid))
		}) {
			ds = append(ds, Device{PCI: pci, UUID: d.UUID})
		}
	}
	sortDevices(ds)
	return ds
}

// instances gives the UUIDs of a GPU's MIG instances.
func (j *Judge) instances(pci xidparse.PCI) []string {
	if d := j.devices[pci]; d != nil {
		return d.Instances
	}
	return nil
}
