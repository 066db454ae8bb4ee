package pods

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/types"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const (
	// kubeletLimit is how long the kubelet may take to answer.
	kubeletLimit = 5 * time.Second
	// answerLimit is the kubelet's own for what it sends, in bytes.
	answerLimit = 16 << 20
)

// grant is what a pod was given.
type grant struct {
	pod types.NamespacedName
	// gpus are names, each once; instances are the MIG instances that were given of
	// them, as far as they are told by UUID.
	gpus, instances []string
	// unknown are the devices that no GPU is known by.
	unknown []string
}

// grants asks the kubelet who was given GPUs.
func (p *Pods) grants(ctx context.Context, gpus inventory) ([]grant, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeletLimit)
	defer cancel()
	connection, err := grpc.NewClient("unix:"+p.options.Socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerLimit)))
	if err != nil {
		return nil, fmt.Errorf("kubelet's pod-resources %s: %w", p.options.Socket, err)
	}
	defer func() { _ = connection.Close() }() // nothing is lost with it
	answer, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("kubelet's pod-resources %s: %w", p.options.Socket, err)
	}
	var all []grant
	for _, pod := range answer.GetPodResources() {
		if pod.GetName() == "" || pod.GetNamespace() == "" {
			return nil, fmt.Errorf("kubelet's pod-resources %s: a pod without name or namespace: %.80q", p.options.Socket, pod.GetNamespace()+"/"+pod.GetName())
		}
		if g := p.grantOf(pod, gpus); len(g.gpus)+len(g.unknown) > 0 {
			all = append(all, g)
		}
	}
	return all, nil
}

func (p *Pods) grantOf(pod *podresources.PodResources, gpus inventory) grant {
	g := grant{pod: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName()}}
	for _, container := range pod.GetContainers() {
		for _, devices := range container.GetDevices() {
			if !p.standsForGPU(devices.GetResourceName()) {
				continue
			}
			for _, id := range devices.GetDeviceIds() {
				g.add(gpus.byID(id), devices.GetResourceName()+" "+id)
				g.addInstance(id)
			}
		}
		for _, resource := range container.GetDynamicResources() {
			for _, claimed := range resource.GetClaimResources() {
				p.addClaimed(&g, claimed, gpus)
			}
		}
	}
	slices.Sort(g.gpus)
	g.gpus = slices.Compact(g.gpus)
	return g
}

// addClaimed adds a device of a resource claim: by its name in CDI, or else by the
// name that its driver gives it.
func (p *Pods) addClaimed(g *grant, claimed *podresources.ClaimResource, gpus inventory) {
	ours := p.standsForGPU(claimed.GetDriverName())
	var found []string
	for _, device := range claimed.GetCdiDevices() {
		kind, name, _ := strings.Cut(device.GetName(), "=")
		if p.standsForGPU(kind) {
			ours = true
			found = append(found, gpus.byCDI(name)...)
			g.addInstance(name)
		}
	}
	if !ours {
		return
	}
	if len(found) == 0 {
		found = gpus.byDRA(claimed.GetDeviceName())
	}
	g.add(found, claimed.GetDriverName()+" "+claimed.GetPoolName()+"/"+claimed.GetDeviceName())
}

// add adds GPUs, or the device that is called so if there are none.
func (g *grant) add(gpus []string, device string) {
	if len(gpus) == 0 {
		g.unknown = append(g.unknown, fmt.Sprintf("%.120q", device))
	}
	g.gpus = append(g.gpus, gpus...)
}

// addInstance adds what is a MIG instance by its UUID, one share of several or not.
func (g *grant) addInstance(id string) {
	if id, _, _ := strings.Cut(id, "::"); strings.HasPrefix(id, "MIG-") {
		g.instances = append(g.instances, id)
	}
}

func (p *Pods) standsForGPU(resource string) bool {
	return slices.ContainsFunc(p.options.Resources, func(pattern string) bool {
		ok, _ := path.Match(pattern, resource) // New has tried the pattern
		return ok
	})
}
