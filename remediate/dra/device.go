package dra

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// group is the API group of dynamic resource allocation.
const group = "resource.k8s.io"

// slice is the part of a ResourceSlice that is read.
type slice struct {
	Spec struct {
		Pool struct {
			Name       string
			Generation int64
		}
		Devices []listed
	}
}

// listed is a device with what its driver says of it.
type listed struct {
	Name       string
	Attributes map[string]struct{ String string }
}

// attribute gives a text that the driver says of a device; empty where it does not.
func (d listed) attribute(name string) string {
	if text := d.Attributes[name].String; text != "" {
		return text
	}
	return d.Attributes[Driver+"/"+name].String
}

// fits says whether a device is what shall be fenced. A GPU is its own device, and
// every MIG device that is a part of it.
func (d listed) fits(w remediate.Fence) bool {
	uuid, parent := d.attribute("uuid"), d.attribute("parentUUID")
	if w.Instance != nil && len(w.MIG) > 0 && parent == w.GPU && uuid != "" {
		return slices.Contains(w.MIG, uuid)
	}
	return uuid == w.GPU || parent == w.GPU
}

// devices names those of this node that shall be fenced.
func (f *Fencer) devices(ctx context.Context, w remediate.Fence) (found []string, err error) {
	var all struct{ Items []slice }
	f.slices, err = f.get(ctx, f.slices, []string{"v1", "v1beta2"}, "resourceslices",
		map[string]string{"fieldSelector": "spec.nodeName=" + f.node + ",spec.driver=" + Driver}, &all)
	if err != nil {
		return nil, err
	}
	newest := map[string]int64{}
	for _, s := range all.Items {
		newest[s.Spec.Pool.Name] = max(newest[s.Spec.Pool.Name], s.Spec.Pool.Generation)
	}
	for _, s := range all.Items {
		pool := s.Spec.Pool
		for _, d := range s.Spec.Devices {
			if pool.Generation != newest[pool.Name] || !d.fits(w) {
				continue
			}
			if pool.Name != f.node {
				return nil, fmt.Errorf("%w: pool %s does not have the name of node %s", errNever, pool.Name, f.node)
			}
			found = append(found, d.Name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no ResourceSlice of driver %s on node %s has the device", errNever, Driver, f.node)
	}
	return found, nil
}

// get reads a list, from the version that served it last or else from the first that
// does, and names that version.
func (f *Fencer) get(ctx context.Context, known string, versions []string, resource string, params map[string]string, into any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	if known != "" {
		versions = append([]string{known}, versions...)
	}
	var err error
	for _, version := range versions {
		request := f.api.Get().AbsPath("/apis", group, version, resource)
		for key, value := range params {
			request.Param(key, value)
		}
		answer := request.Do(ctx)
		if err = answer.Error(); apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			body, _ := answer.Raw() // its error is the one above
			err = json.Unmarshal(body, into)
		}
		return version, never(err)
	}
	return "", never(err)
}
