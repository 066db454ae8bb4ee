package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/remediate/prometheus"
)

// loadOf finds what the contract's group is asked to carry; nil where there is no
// contract, or this node is none of its group. Who serves is counted apart.
func (f *Fleet) loadOf(ctx context.Context, own *metav1.PartialObjectMetadata) *guard.Load {
	if f.Contract.Name == "" {
		return nil
	}
	l := &guard.Load{Contract: f.Contract.String()}
	c, err := f.contract(ctx)
	if err != nil {
		l.Unknown = err.Error()
		return l
	}
	selector, err := labels.Parse(c.Group)
	if err == nil && !selector.Matches(labels.Set(own.Labels)) {
		return nil
	}
	l.Group, l.GPUs, l.Unit, l.PerNode, l.MaxLoad, l.Minimum, l.Objective = c.Group, c.GPUs, c.Unit, c.PerNode, c.MaxLoad/100, c.Minimum, c.Objective
	if err := f.measure(ctx, c, l); err != nil {
		l.Unknown = err.Error()
	}
	return l
}

// count counts who serves of the contract's nodes.
func (f *Fleet) count(ctx context.Context, l *guard.Load) error {
	if l == nil || l.Unknown != "" {
		return nil
	}
	selector := remediate.LabelState
	if l.Group != "" {
		selector += "," + l.Group
	}
	found, err := f.list(ctx, selector)
	if err != nil {
		return err
	}
	l.Serving, l.Own = 0, 0
	for n := range found {
		part := serving(&found[n], l.GPUs)
		l.Serving += part
		if found[n].Name == f.Node {
			l.Own = part
		}
	}
	return nil
}

// measure asks for the demand.
func (f *Fleet) measure(ctx context.Context, c Contract, l *guard.Load) (err error) {
	ask := prometheus.Server{URL: f.Prometheus}
	if l.Demand, err = ask.Value(ctx, c.Demand); err != nil {
		return err
	}
	if l.Demand < 0 {
		return fmt.Errorf("demand, %.120q: %v is negative", c.Demand, l.Demand)
	}
	if c.QueueAge != "" {
		seconds, err := ask.Value(ctx, c.QueueAge)
		if err != nil {
			return err
		}
		if l.QueueAge, err = age(seconds); err != nil {
			return fmt.Errorf("queueAge, %.120q: %w", c.QueueAge, err)
		}
	}
	for _, s := range c.Shed {
		demand, err := ask.Value(ctx, s.Demand)
		if err != nil {
			return err
		}
		l.Shed = append(l.Shed, guard.Class{Name: s.Class, Demand: demand})
	}
	return nil
}

// longest is more than anything waits: a hundred years, in seconds.
const longest = 100 * 365 * 24 * 60 * 60

// age is a time in seconds, as a server says it.
func age(seconds float64) (time.Duration, error) {
	if seconds < 0 || seconds > longest {
		return 0, fmt.Errorf("%v s is no age", seconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// serving gives how much of a node serves: nothing of one that is out, and of
// another the part of its GPUs that no fault is about and that keep nothing for workers
// which are gone.
func serving(m *metav1.PartialObjectMetadata, gpus int) float64 {
	if slices.Contains(outStates, remediate.NodeState(m.Labels[remediate.LabelState])) {
		return 0
	}
	healthy, err := strconv.Atoi(m.Labels[remediate.LabelGPUs])
	if err != nil || gpus == 0 {
		return 1
	}
	stranded, err := strconv.ParseFloat(m.Annotations[remediate.StrandedAnnotation], 64)
	if err != nil || !(stranded > 0) {
		stranded = 0
	}
	return min(1, max(0, float64(healthy)-stranded)/float64(gpus))
}
