package dra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// Label is on every rule of ours, with a value that names the node.
const Label = remediate.Prefix + "node"

// resource is the kind in the API's paths.
const resource = "devicetaintrules"

// rule is a DeviceTaintRule as far as we write it, the same in all versions that have
// the kind, and as it is read: whatever else somebody has put into its spec, too.
type rule struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       struct {
		DeviceSelector map[string]any `json:"deviceSelector"`
		Taint          map[string]any `json:"taint"`
	} `json:"spec"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// hashOf names a node in a label, which is shorter than its name may be.
func hashOf(node string) string {
	sum := sha256.Sum256([]byte(node))
	return hex.EncodeToString(sum[:6])
}

// prefix begins the name of every rule of a node. The node is in it, for admission to
// see whose name that is; a device's own has no dot.
func prefix(node string) string { return "gpuhealthd-" + node + "." }

// gpuAnnotation names the GPU, for people.
const gpuAnnotation = remediate.Prefix + "gpu"

// rule gives the one for a device of this node.
func (f *Fencer) rule(device string, w remediate.Fence) rule {
	r := rule{Kind: "DeviceTaintRule"}
	r.Metadata = metadata{Name: prefix(f.node) + device,
		Labels: map[string]string{Label: hashOf(f.node)}, Annotations: map[string]string{gpuAnnotation: w.GPU}}
	r.Spec.DeviceSelector = map[string]any{"driver": Driver, "pool": f.node, "device": device}
	// What runs there the agent drains itself, under disruption budgets, where it may.
	r.Spec.Taint = map[string]any{"key": remediate.TaintQuarantine, "value": w.Fault, "effect": "NoSchedule"}
	return r
}

// pool is the one of whose devices a rule is; empty where it names none.
func (r rule) pool() string {
	pool, _ := r.Spec.DeviceSelector["pool"].(string)
	return pool
}

// differs says in what a rule is not as it should be; empty where it is.
func (r rule) differs(want rule) string {
	delete(r.Spec.Taint, "timeAdded") // the API server's
	is, _ := json.Marshal(r.Spec)     // it was read from JSON
	should, _ := json.Marshal(want.Spec)
	switch {
	case string(is) != string(should):
		return fmt.Sprintf("rule %s says %s, and should %s", want.Metadata.Name, is, should)
	case r.Metadata.Labels[Label] != want.Metadata.Labels[Label]:
		return fmt.Sprintf("rule %s has lost its label %s", want.Metadata.Name, Label)
	}
	return ""
}

// list gives this node's rules by name, and finds the version that serves them.
func (f *Fencer) list(ctx context.Context) (map[string]rule, error) {
	var all struct{ Items []rule }
	var err error
	f.rules, err = f.get(ctx, f.rules, []string{"v1", "v1beta2", "v1alpha3"}, resource,
		map[string]string{"labelSelector": Label + "=" + hashOf(f.node)}, &all)
	stand := map[string]rule{}
	for _, r := range all.Items {
		if r.pool() == f.node && strings.HasPrefix(r.Metadata.Name, prefix(f.node)) {
			stand[r.Metadata.Name] = r
		}
	}
	return stand, err
}

// read gives one rule by name, whoever has made it.
func (f *Fencer) read(ctx context.Context, name string) (r rule, err error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	body, err := f.api.Get().AbsPath("/apis", group, f.rules, resource, name).Do(ctx).Raw()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(body, &r)
}

// ensure makes a rule stand. One of its name that is ours and another than it should be
// is made anew; one that is not ours stays, and is no fence.
func (f *Fencer) ensure(ctx context.Context, want rule, stand map[string]rule) error {
	name := want.Metadata.Name
	have, there := stand[name]
	for range 2 {
		if !there {
			err := f.create(ctx, want)
			if !apierrors.IsAlreadyExists(err) {
				return never(err)
			}
			if have, err = f.read(ctx, name); err != nil {
				return err
			}
		}
		if have.differs(want) == "" {
			return nil
		}
		if have.pool() != f.node {
			return fmt.Errorf("%w: there is a DeviceTaintRule %s already, for pool %q and not for this node's", errNever, name, have.pool())
		}
		if err := f.remove(ctx, name); err != nil {
			return never(err)
		}
		there = false
	}
	return fmt.Errorf("somebody else makes a rule %s as well", name)
}

func (f *Fencer) create(ctx context.Context, r rule) error {
	r.APIVersion = group + "/" + f.rules
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	return f.api.Post().AbsPath("/apis", group, f.rules, resource).Param("fieldManager", apiserver.Manager).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

// remove deletes a rule, if it is still there.
func (f *Fencer) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	err := f.api.Delete().AbsPath("/apis", group, f.rules, resource, name).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
