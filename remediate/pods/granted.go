package pods

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Grant is what a pod was given.
type Grant struct {
	Pod types.NamespacedName
	// GPUs are names, sorted and each once: UUIDs of whole GPUs and of MIG instances.
	// An instance whose UUID nobody tells, as DRA does, has its GPU's name.
	GPUs []string
	// Unknown are devices that no GPU is known by yet, in words.
	Unknown []string
}

// Granted asks the kubelet who was given GPUs, ended pods included.
func (p *Pods) Granted(ctx context.Context) ([]Grant, error) {
	gpus := inventory(p.options.GPUs())
	grants, err := p.grants(ctx, gpus)
	if err != nil {
		return nil, err
	}
	all := make([]Grant, 0, len(grants))
	for _, g := range grants {
		all = append(all, Grant{Pod: g.pod, GPUs: gpus.finer(g), Unknown: g.unknown})
	}
	return all, nil
}

// finer names a grant's MIG instances in the place of their GPUs.
func (i inventory) finer(g grant) (names []string) {
	whole := slices.Clone(g.gpus)
	for _, instance := range g.instances {
		if of := i.byID(instance); len(of) > 0 {
			names = append(names, instance)
			whole = slices.DeleteFunc(whole, func(gpu string) bool { return slices.Contains(of, gpu) })
		}
	}
	names = append(names, whole...)
	slices.Sort(names)
	return slices.Compact(names)
}
