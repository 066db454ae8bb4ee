package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ConfigMap names one.
type ConfigMap struct{ Namespace, Name string }

// String gives it as namespace/name.
func (c ConfigMap) String() string { return c.Namespace + "/" + c.Name }

// contractKey is where a ConfigMap holds the contract.
const contractKey = "contract.yaml"

// Contract is what a site says of a group of nodes that serve one thing.
type Contract struct {
	// Group is a label selector; empty is every node that an agent speaks for.
	Group string `yaml:"group"`
	// Unit is that of PerNode and of what Demand gives, for people.
	Unit string `yaml:"unit"`
	// PerNode is the tested capacity of one node, GPUs how many GPUs it then had.
	PerNode float64 `yaml:"perNode"`
	GPUs    int     `yaml:"gpus"`
	// MaxLoad is how much of the capacity may be used, in percent.
	MaxLoad float64 `yaml:"maxLoad"`
	// Minimum is how many nodes have to serve.
	Minimum float64 `yaml:"minimum"`
	// Demand is a PromQL expression of what is admitted, QueueAge one of the age of
	// the oldest that waits, in seconds; Objective is what that should be at most.
	Demand    string        `yaml:"demand"`
	QueueAge  string        `yaml:"queueAge"`
	Objective time.Duration `yaml:"objective"`
	// Shed are the classes of work that can be shed, in that order.
	Shed []Shed `yaml:"shed"`
}

// Shed is a class of work, and a PromQL expression of its part of the demand.
type Shed struct {
	Class  string `yaml:"class"`
	Demand string `yaml:"demand"`
}

// defaultMaxLoad is how much of a tested capacity may be used where a contract does
// not say, in percent.
const defaultMaxLoad = 80

// ParseContract reads a contract and refuses what it does not understand.
func ParseContract(text []byte) (c Contract, err error) {
	c = Contract{MaxLoad: defaultMaxLoad}
	reader := yaml.NewDecoder(bytes.NewReader(text))
	reader.KnownFields(true)
	if err := reader.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	_, bad := labels.Parse(c.Group)
	for _, f := range []struct {
		field string
		bad   bool
		why   string
	}{
		{"group", bad != nil, fmt.Sprintf("%q is not a label selector: %v", c.Group, bad)},
		{"perNode", !(c.PerNode > 0) || math.IsInf(c.PerNode, 0), fmt.Sprintf("%v is not above zero", c.PerNode)},
		{"gpus", c.GPUs < 0, fmt.Sprintf("%d is negative", c.GPUs)},
		{"maxLoad", !(c.MaxLoad > 0 && c.MaxLoad <= 100), fmt.Sprintf("%v is not a percentage above zero", c.MaxLoad)},
		{"minimum", !(c.Minimum >= 0) || math.IsInf(c.Minimum, 0), fmt.Sprintf("%v is not a number from 0 on", c.Minimum)},
		{"demand", c.Demand == "", "empty"},
		{"objective", c.Objective < 0, fmt.Sprintf("%s is negative", c.Objective)},
		{"objective", c.Objective > 0 && c.QueueAge == "", "given, and queueAge is empty"},
	} {
		if f.bad {
			return c, fmt.Errorf("%s: %s", f.field, f.why)
		}
	}
	for n, s := range c.Shed {
		if s.Class == "" || s.Demand == "" {
			return c, fmt.Errorf("shed[%d]: want class and demand", n)
		}
	}
	return c, nil
}

// contract reads the site's contract.
func (f *Fleet) contract(ctx context.Context) (Contract, error) {
	m := &corev1.ConfigMap{}
	err := f.Client.Core.Get().Namespace(f.Contract.Namespace).Resource("configmaps").Name(f.Contract.Name).Do(ctx).Into(m)
	if err != nil {
		return Contract{}, failed("get configmap "+f.Contract.String(), err)
	}
	text, there := m.Data[contractKey]
	if !there {
		return Contract{}, fmt.Errorf("configmap %s: no key %s", f.Contract, contractKey)
	}
	c, err := ParseContract([]byte(text))
	if err != nil {
		return c, fmt.Errorf("configmap %s, %s: %w", f.Contract, contractKey, err)
	}
	return c, nil
}
