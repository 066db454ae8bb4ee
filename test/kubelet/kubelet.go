// Package kubelet plays a node's kubelet for tests, in the two parts that a drain
// meets: it says by the real protocol of the pod-resources API, on a unix socket,
// which pod was given which device, and it lets pods end that are told to.
package kubelet

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet is one that runs. Its methods may be called from any goroutine.
type Kubelet struct {
	// Socket is the path of the pod-resources socket.
	Socket string

	podresources.UnimplementedPodResourcesListerServer
	mu     sync.Mutex
	pods   []*podresources.PodResources
	failed error
}

// Start starts one that gave nobody anything. It ends with the test.
func Start(t testing.TB) *Kubelet {
	t.Helper()
	k := &Kubelet{Socket: filepath.Join(t.TempDir(), "kubelet.sock")}
	listener, err := net.Listen("unix", k.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, k)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // its only end is Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return k
}

// List answers as the kubelet does.
func (k *Kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &podresources.ListPodResourcesResponse{PodResources: slices.Clone(k.pods)}, k.failed
}

// Give gives a pod one container with these devices, beside what it has.
func (k *Kubelet) Give(namespace, name string, resource string, ids ...string) {
	k.Add(namespace, name, &podresources.ContainerResources{
		Devices: []*podresources.ContainerDevices{{ResourceName: resource, DeviceIds: ids}},
	})
}

// Claim gives a pod one container with a device of a resource claim; the names in
// CDI may be none.
func (k *Kubelet) Claim(namespace, name, driver, device string, cdi ...string) {
	claimed := &podresources.ClaimResource{DriverName: driver, PoolName: "pool", DeviceName: device}
	for _, name := range cdi {
		claimed.CdiDevices = append(claimed.CdiDevices, &podresources.CDIDevice{Name: name})
	}
	k.Add(namespace, name, &podresources.ContainerResources{DynamicResources: []*podresources.DynamicResource{{
		ClaimName: "claim-of-" + name, ClaimNamespace: namespace, ClaimResources: []*podresources.ClaimResource{claimed},
	}}})
}

// Add gives a pod one more container.
func (k *Kubelet) Add(namespace, name string, container *podresources.ContainerResources) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = append(k.pods, &podresources.PodResources{
		Namespace: namespace, Name: name, Containers: []*podresources.ContainerResources{container},
	})
}

// Take takes all from a pod.
func (k *Kubelet) Take(namespace, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = slices.DeleteFunc(k.pods, func(p *podresources.PodResources) bool {
		return p.Namespace == namespace && p.Name == name
	})
}

// Fail makes List fail; nil lets it answer again.
func (k *Kubelet) Fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = err
}

// EndPods lets each pod of a node end that is told to, in no time, until the test
// ends: what it was given is taken from it, and it leaves the API. Before that,
// ending is called, which may keep the pod's processes waiting.
func (k *Kubelet) EndPods(t testing.TB, client kubernetes.Interface, node string, ending func(*corev1.Pod)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	watch, err := client.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || pod.DeletionTimestamp == nil || event.Type == "DELETED" {
				continue
			}
			ending(pod)
			k.Take(pod.Namespace, pod.Name)
			if err := remove(ctx, client, pod); err != nil && ctx.Err() == nil {
				t.Errorf("kubelet: end pod %s: %v", pod.Name, err)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		watch.Stop()
		<-done
	})
}

// remove takes a pod that has ended from the API.
func remove(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	now := int64(0)
	err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // somebody was faster
	}
	return err
}
