package guard

import (
	"fmt"
	"math"
	"time"
)

// Load is what a group carries at one moment, and what it was tested to carry.
type Load struct {
	// Contract names where the figures come from, Group is the label selector of the
	// nodes that they are about; empty is every node that an agent speaks for.
	Contract string `json:"contract"`
	Group    string `json:"group,omitempty"`
	// Unit is that of the capacity and the demand.
	Unit string `json:"unit,omitempty"`
	// PerNode is the tested capacity of one whole node, GPUs how many GPUs it then had;
	// 0 where nobody says.
	PerNode float64 `json:"perNode"`
	GPUs    int     `json:"gpus,omitempty"`
	// Serving counts the nodes in service, one with sick GPUs by those that are not;
	// Own is this node's part of it.
	Serving float64 `json:"serving"`
	Own     float64 `json:"own"`
	// MaxLoad is how much of the capacity may be used, Minimum how many nodes have
	// to serve.
	MaxLoad float64 `json:"maxLoad"`
	Minimum float64 `json:"minimum"`
	// Demand is what is admitted.
	Demand float64 `json:"demand"`
	// QueueAge is the age of the oldest that waits, Objective what it should be at
	// most; without an objective nobody waits for it.
	QueueAge  time.Duration `json:"queueAge"`
	Objective time.Duration `json:"objective"`
	// Shed are the classes of work that can be shed, the first of them first.
	Shed []Class `json:"shed,omitempty"`
	// Unknown is why the figures are not known; empty when they are.
	Unknown string `json:"unknown,omitempty"`
}

// Class is one class of work, and what of the demand it is.
type Class struct {
	Name   string  `json:"name"`
	Demand float64 `json:"demand"`
}

// Capacity is what the nodes in service can carry.
func (l Load) Capacity() float64 { return l.PerNode * l.Serving }

// Ratio is the demand by the capacity once some nodes less serve; without any
// capacity it is infinite, or 0 where nothing is wanted.
func (l Load) Ratio(less float64) float64 {
	left := l.PerNode * (l.Serving - less)
	switch {
	case l.Demand <= 0:
		return 0
	case left <= 0:
		return math.Inf(1)
	}
	return l.Demand / left
}

// WouldShed names the classes that would have to go for the rest to fit, in their
// order.
func (l Load) WouldShed() (names []string) {
	for _, c := range l.Shed {
		if l.Unknown != "" || l.Ratio(0) <= l.MaxLoad {
			break
		}
		names = append(names, c.Name)
		l.Demand -= c.Demand
	}
	return names
}

// capacity holds what the nodes that are left could not carry. Of a node that is
// out already nothing more is lost, but the others may be too busy for what still
// runs on it.
func capacity(f Facts, a Ask) *Hold {
	l := f.Load
	if l == nil {
		return nil
	}
	if l.Unknown != "" {
		return &Hold{Capacity, Unknown, "the load is not known: " + l.Unknown, "it is known again"}
	}
	less := l.Own
	if a.Out {
		less = 0
	}
	if left := l.Serving - less; left < l.Minimum {
		return &Hold{Capacity, Few, fmt.Sprintf("%.1f nodes of %s would be left, and the least is %.0f", left, f.Group, l.Minimum), "more nodes serve"}
	}
	if ratio := l.Ratio(less); ratio > l.MaxLoad {
		return &Hold{Capacity, Loaded, fmt.Sprintf("the nodes left in %s would carry %.0f %% of their tested capacity, and %.0f %% is the most", f.Group, 100*ratio, 100*l.MaxLoad),
			"the demand falls, or more nodes serve"}
	}
	return nil
}

// late says whether what waits is older than it should be.
func (l *Load) late() bool {
	return l != nil && l.Objective > 0 && (l.Unknown != "" || l.QueueAge > l.Objective)
}
