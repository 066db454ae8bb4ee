package rack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// links is how many NVLinks a GPU of the rack has.
const links = 18

// driver tells of a tray whose GPUs have all their links up, unless it was changed.
type driver struct {
	tray *tray
	poll chan struct{}

	mu     sync.Mutex
	change func(*nvlink.Reading)
}

func newDriver(t *tray) *driver {
	return &driver{tray: t, poll: make(chan struct{}, 1), change: func(*nvlink.Reading) {}}
}

// Run, Poll and Restart make it an agent.Driver.
func (d *driver) Run(ctx context.Context, out func(nvml.Report)) error {
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		out(d.report())
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		case <-d.poll:
		}
	}
}

func (d *driver) Poll() {
	select {
	case d.poll <- struct{}{}:
	default:
	}
}

func (d *driver) Restart() {}

// set changes what every GPU tells of its links from now on.
func (d *driver) set(change func(*nvlink.Reading)) {
	d.mu.Lock()
	d.change = change
	d.mu.Unlock()
	d.Poll()
}

func (d *driver) report() nvml.Report {
	d.mu.Lock()
	defer d.mu.Unlock()
	inv := nvml.Inventory{Driver: "580.95.05"}
	for i, gpu := range d.tray.gpus {
		at, _ := xidparse.ParsePCI(gpu.PCI)
		f := d.tray.fabric()
		r := &nvlink.Reading{Generation: 5, Fabric: &f, Platform: &nvlink.Platform{Chassis: "1821325191570", Slot: 11, Tray: 6, Module: i + 1, Switched: true}}
		for l := range links {
			r.Links = append(r.Links, nvlink.Link{Index: l, State: nvlink.Active, Remote: nvlink.RemoteSwitch})
		}
		d.change(r)
		inv.GPUs = append(inv.GPUs, nvml.GPU{Index: i, Identity: nvml.Identity{UUID: gpu.UUID, PCI: at}, NVLink: r})
	}
	return nvml.InventoryReport(inv)
}

// requests counts what an agent asks of the API server.
type requests struct {
	mu   sync.Mutex
	seen map[string]int
}

func (r *requests) observe(verb, resource, _ string, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	r.seen[fmt.Sprintf("%s %s", verb, resource)]++
}

// take gives the counts since it was called last.
func (r *requests) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}
