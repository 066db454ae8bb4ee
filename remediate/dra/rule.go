package dra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// Label is on every rule of ours, with a value that names the node.
const Label = remediate.Prefix + "node"

// namePrefix begins the name of every rule of ours.
const namePrefix = "gpuhealthd-"

// rule is the part of a DeviceTaintRule that we write; it is the same in all versions
// that have the kind.
type rule struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       struct {
		DeviceSelector device `json:"deviceSelector"`
		Taint          taint  `json:"taint"`
	} `json:"spec"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// hashOf names a node in a label and in names, which are shorter than its own may be.
func hashOf(node string) string {
	sum := sha256.Sum256([]byte(node))
	return hex.EncodeToString(sum[:6])
}

// rule gives the one for a device.
func (f *Fencer) rule(d device, w remediate.Fence) rule {
	r := rule{Kind: "DeviceTaintRule"}
	r.Metadata = metadata{Name: namePrefix + hashOf(f.node) + "-" + d.Device,
		Labels: map[string]string{Label: hashOf(f.node)}, Annotations: map[string]string{remediate.Prefix + "gpu": w.GPU}}
	r.Spec.DeviceSelector = d
	// What runs there the agent drains itself, under disruption budgets, where it may.
	r.Spec.Taint = taint{Key: remediate.TaintQuarantine, Value: w.Fault, Effect: "NoSchedule"}
	return r
}

// list gives the names of this node's rules, and finds the version that serves them.
func (f *Fencer) list(ctx context.Context) (names []string, err error) {
	var all struct{ Items []rule }
	f.rules, err = f.get(ctx, f.rules, []string{"v1", "v1beta2", "v1alpha3"}, "devicetaintrules",
		map[string]string{"labelSelector": Label + "=" + hashOf(f.node)}, &all)
	for _, r := range all.Items {
		if r.Spec.DeviceSelector.Pool == f.node {
			names = append(names, r.Metadata.Name)
		}
	}
	return names, err
}

// create makes a rule; one of the name that is there already is ours, and the same.
func (f *Fencer) create(ctx context.Context, r rule) error {
	r.APIVersion = group + "/" + f.rules
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	err = f.api.Post().AbsPath("/apis", group, f.rules, "devicetaintrules").Param("fieldManager", apiserver.Manager).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return never(err)
}

// remove deletes a rule, if it is still there.
func (f *Fencer) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	err := f.api.Delete().AbsPath("/apis", group, f.rules, "devicetaintrules", name).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
