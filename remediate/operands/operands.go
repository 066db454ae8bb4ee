package operands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// again is the time between two trials, and between two looks at which pods are
// still there.
const again = time.Second

// Config says which services of which Node.
type Config struct {
	Node string
	// Labels are the Node labels of the services that hold GPUs.
	Labels []string
	// Wait is how long pausing may take, with their pods' end. Whether one still holds
	// a GPU after that, /proc says.
	Wait time.Duration
}

// Labels are those of the operator's services that have a GPU open.
func Labels() []string {
	var labels []string
	for _, name := range []string{
		"device-plugin", "gpu-feature-discovery", "dcgm", "dcgm-exporter", "mig-manager",
		"dcgm-dra", "dcgm-exporter-dra", // where GPUs are given out by DRA
	} {
		labels = append(labels, "nvidia.com/gpu.deploy."+name)
	}
	return labels
}

// Operands are the services on one Node. Its methods are called one at a time.
type Operands struct {
	config Config
	client *apiserver.Client
}

// New asks the API server nothing.
func New(config Config, client *apiserver.Client) (*Operands, error) {
	if config.Node == "" || len(config.Labels) == 0 {
		return nil, errors.New("the operator's services: want a node and labels")
	}
	return &Operands{config: config, client: client}, nil
}

// Pause pauses the services that run and returns when their pods have gone, or
// Config.Wait is over. An error is a label that could not be written in that time.
func (o *Operands) Pause(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.config.Wait)
	defer cancel()
	if err := o.change(ctx, o.pause); err != nil {
		return fmt.Errorf("pause on node %s: %w", o.config.Node, err)
	}
	for {
		// Without an answer we go on asking: who holds a GPU is found out otherwise.
		if left, err := o.running(ctx); err == nil && !left || !wait(ctx) {
			return nil
		}
	}
}

// Restore undoes what Pause has done, in this life or an earlier one, and tries
// until ctx ends. A Node that is not there has nothing to restore.
func (o *Operands) Restore(ctx context.Context) error {
	if err := o.change(ctx, restore); err != nil {
		return fmt.Errorf("restore on node %s: %w", o.config.Node, err)
	}
	return nil
}

// rule gives the value that a label shall have, and is false where it stays.
type rule func(key, value string) (string, bool)

// change gives labels new values, in one write, and tries until ctx ends or the
// API server says that it never will.
func (o *Operands) change(ctx context.Context, to rule) error {
	for {
		err := o.write(ctx, to)
		if err == nil || final(err) || !wait(ctx) {
			return err
		}
	}
}

// final says whether another trial would end as this one. A JSON patch whose test
// fails, since somebody was faster, is answered as invalid.
func final(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// wait pauses between two trials; false: ctx has ended.
func wait(ctx context.Context) bool {
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// write patches the labels; its tests make it fail where the Node or a label is
// another by then.
func (o *Operands) write(ctx context.Context, to rule) error {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	node := &corev1.Node{}
	err := o.client.Core.Get().Resource("nodes").Name(o.config.Node).Do(ctx).Into(node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	steps := []operation{{"test", "/metadata/uid", string(node.UID)}}
	for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
		was := node.Labels[key]
		if now, ok := to(key, was); ok {
			path := labelPath(key)
			steps = append(steps, operation{"test", path, was}, operation{"replace", path, now})
		}
	}
	if len(steps) == 1 {
		return nil
	}
	body, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	return o.client.Core.Patch(types.JSONPatchType).Resource("nodes").Name(o.config.Node).
		Param("fieldManager", apiserver.Manager).Body(body).Do(ctx).Error()
}

// running says whether a pod of the services is still on the Node: one whose node
// selector has one of the labels. Its DaemonSet deletes it when that no longer fits.
func (o *Operands) running(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, apiserver.RequestLimit)
	defer cancel()
	list := &corev1.PodList{}
	err := o.client.Core.Get().Resource("pods").Param("fieldSelector", "spec.nodeName="+o.config.Node).Do(ctx).Into(list)
	if err != nil {
		return false, err
	}
	for _, pod := range list.Items {
		for _, key := range o.config.Labels {
			if _, ours := pod.Spec.NodeSelector[key]; ours {
				return true, nil
			}
		}
	}
	return false, nil
}
