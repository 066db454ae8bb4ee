package repair

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

// occupant tells who holds the GPUs: with an API server its pods count too.
func (p *parts) occupant() agent.Occupant {
	if p.pods != nil {
		return p.pods
	}
	return bare{p}
}

// bare is a host without an API server, where every process is work but those that
// the site has named as services.
type bare struct{ *parts }

// Occupancy looks at the processes once.
func (b bare) Occupancy(context.Context) remediate.Occupancy {
	at := time.Now()
	found := b.everybody()
	seen := remediate.Occupancy{At: at, Holders: found.Holders(noPod), Unknown: found.Unknown}
	for n := range seen.Holders {
		seen.Holders[n].Service = slices.Contains(b.Config.Services, seen.Holders[n].Process)
	}
	return seen
}

// processes are those that keep GPUs from being reset, services and all.
func (p *parts) processes(_ context.Context, gpus []fault.Device) ([]remediate.Holder, error) {
	var some []holders.GPU
	for _, g := range p.known() {
		if slices.ContainsFunc(gpus, func(d fault.Device) bool { return d.PCI == g.PCI }) {
			some = append(some, g.GPU)
		}
	}
	if len(some) < len(gpus) {
		return nil, errors.New("not all of the GPUs are known to the driver")
	}
	found := p.scan(some)
	if found.Unknown != "" {
		return nil, errors.New(found.Unknown)
	}
	return found.Holders(noPod), nil
}

// everybody are the processes that have any GPU of the node open.
func (p *parts) everybody() holders.Found {
	var gpus []holders.GPU
	for _, g := range p.known() {
		gpus = append(gpus, g.GPU)
	}
	return p.scan(gpus)
}

// devices are the UUIDs of the node's GPUs and MIG devices, as far as they are known.
func (p *parts) devices() (uuids []string) {
	for _, g := range p.known() {
		if g.UUID != "" {
			uuids = append(uuids, g.UUID)
		}
		uuids = append(uuids, g.Instances...)
	}
	return uuids
}

func noPod(string) string { return "" }

// known are the node's GPUs with the names that others have for them.
func (p *parts) known() []pods.GPU {
	var all []pods.GPU
	for _, g := range p.GPUs() {
		k := pods.GPU{}
		k.UUID, k.PCI, k.Minor = g.UUID, g.PCI, g.Minor
		if g.Index >= 0 {
			k.Index = &g.Index
		}
		for _, i := range g.Instances {
			k.Instances = append(k.Instances, i.UUID)
		}
		all = append(all, k)
	}
	return all
}

// scan looks for the processes that have GPUs open, but our own children: they are
// made quiet before a reset, and are no work.
func (p *parts) scan(gpus []holders.GPU) holders.Found {
	o := holders.Options{Proc: p.Config.Proc, Dev: p.Config.Dev, GPUs: gpus}
	open, err := host.OwnHolders(filepath.Join(o.Dev, "nvidia"))
	if err != nil {
		return holders.Found{Unknown: err.Error()}
	}
	for _, h := range open {
		o.Except = append(o.Except, h.PID)
	}
	return holders.Scan(o)
}
