package deploy

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// Two nodes and a pod on each; the token that was stolen is of the first.
const (
	own   = "own"
	other = "other"
)

// fleet is a cluster with all that deploy/ has.
type fleet struct {
	t     *testing.T
	admin kubernetes.Interface
	thief kubernetes.Interface // has the token of the agent on the node own
	stray kubernetes.Interface // has a token of the account that no node is named in
	guise kubernetes.Interface // is an administrator who plays the account
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	cluster := kubetest.Start(t)
	apply(t, cluster, manifest, "admission.yaml", "repair.yaml", "repair-force.yaml", "serving.yaml")
	must(t, cluster.Apply(t.Context(), []byte(leaseRights)))
	cluster.AwaitAllowed(t, account, withVerb(resource("coordination.k8s.io", "leases", ""), "create"))
	for _, what := range []string{"nodes", "pods"} {
		cluster.AwaitAllowed(t, account, withVerb(resource("", what, ""), "patch"))
	}
	cluster.AwaitAllowed(t, account, withVerb(resource("", "pods", ""), "delete"))
	cluster.AwaitAllowed(t, account, withVerb(resource("", "pods/status", ""), "patch"))
	f := &fleet{t: t, admin: kubernetes.NewForConfigOrDie(cluster.Admin())}
	for _, name := range []string{own, other} {
		cluster.CreateNode(t, name)
		f.populate(name)
	}
	f.thief = kubernetes.NewForConfigOrDie(cluster.Projected(t, account, own))
	f.stray = kubernetes.NewForConfigOrDie(cluster.ServiceAccount(t, account, ""))
	played := cluster.Admin()
	played.Impersonate.UserName = "system:serviceaccount:" + account.Namespace + ":" + account.Name
	f.guise = kubernetes.NewForConfigOrDie(played)
	f.allow("true")
	inForce := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	kubetest.AwaitForbidden(t, "a write to another Node", func(ctx context.Context) error {
		_, err := f.thief.CoreV1().Nodes().Patch(ctx, other, types.MergePatchType, []byte(`{"metadata":{"labels":{"gpuhealthd.io/state":"x"}}}`), inForce)
		return err
	})
	kubetest.AwaitForbidden(t, "a write to another Node's pod", func(ctx context.Context) error {
		_, err := f.thief.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, other, types.MergePatchType, []byte(`{"metadata":{"labels":{"gpuhealthd.io/in-rotation":null}}}`), inForce)
		return err
	})
	return f
}

// allow sets all of gpuhealthd-admission, and returns when that counts.
func (f *fleet) allow(value string) {
	f.t.Helper()
	data := fmt.Sprintf(`{"data":{"cordon":%q,"operands":%q,"autoscalers":%q}}`, value, value, value)
	_, err := f.admin.CoreV1().ConfigMaps(account.Namespace).Patch(f.t.Context(), "gpuhealthd-admission", types.MergePatchType, []byte(data), metav1.PatchOptions{})
	f.must(err)
	err = wait.PollUntilContextTimeout(f.t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := f.thief.CoreV1().Nodes().Patch(ctx, own, types.StrategicMergePatchType, []byte(keep), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) == (value == "false"), nil
	})
	f.must(err)
}

// populate gives a Node what others have to say of it, and a pod of its name.
func (f *fleet) populate(node string) {
	f.t.Helper()
	for subresource, patch := range map[string]string{
		"": `{"metadata":{"labels":{"kubernetes.io/os":"linux","nvidia.com/gpu.deploy.dcgm":"true","nvidia.com/gpu.deploy.mig-manager":"false","gpuhealthd.io/state":"healthy"},
			"annotations":{"node.alpha.kubernetes.io/ttl":"0"},"finalizers":["example.com/keep"]}}`,
		"status": `{"status":{"capacity":{"cpu":"8"},"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}],"images":[{"names":["example.com/a:1"],"sizeBytes":1}]}}`,
	} {
		f.must(f.patchNode(f.admin, node, patch, subresource))
	}
	_, err := f.admin.CoreV1().Pods(metav1.NamespaceDefault).Create(f.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"app": "serve", "gpuhealthd.io/in-rotation": "yes"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "gpuhealthd.io/ready"}}},
	}, metav1.CreateOptions{})
	f.must(err)
	f.must(f.patchPod(f.admin, node, `{"status":{"phase":"Running","podIP":"10.0.0.7","podIPs":[{"ip":"10.0.0.7"}],"conditions":[{"type":"Ready","status":"False"},
		{"type":"gpuhealthd.io/ready","status":"True"}]}}`, "status"))
}

func (f *fleet) must(err error) {
	f.t.Helper()
	must(f.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patchNode sends a strategic merge patch, of the Node or of a subresource.
func (f *fleet) patchNode(by kubernetes.Interface, name, patch, subresource string) error {
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	_, err := by.CoreV1().Nodes().Patch(f.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// patchPod sends a strategic merge patch, of the pod or of subresources.
func (f *fleet) patchPod(by kubernetes.Interface, name, patch string, subresources ...string) error {
	_, err := by.CoreV1().Pods(metav1.NamespaceDefault).Patch(f.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// versions are those of all objects that an attempt could have changed.
func (f *fleet) versions() (all []string) {
	f.t.Helper()
	for _, name := range []string{own, other} {
		node, err := f.admin.CoreV1().Nodes().Get(f.t.Context(), name, metav1.GetOptions{})
		f.must(err)
		pod, err := f.admin.CoreV1().Pods(metav1.NamespaceDefault).Get(f.t.Context(), name, metav1.GetOptions{})
		f.must(err)
		all = append(all, node.ResourceVersion, pod.ResourceVersion)
	}
	return all
}

// denied fails the test unless an attempt is forbidden and has changed nothing.
func (f *fleet) denied(name string, attempt func() error) {
	f.t.Helper()
	before := f.versions()
	if err := attempt(); !apierrors.IsForbidden(err) {
		f.t.Errorf("%s: %v, want forbidden", name, err)
	}
	if !slices.Equal(before, f.versions()) {
		f.t.Errorf("%s: something was changed", name)
	}
}

// breakOuts are what whoever has an agent's token may try. He gets no further than what
// the agent does on that node, with every right that deploy/ can give.
func breakOuts(t *testing.T, f *fleet) {
	for _, a := range nodeAttempts {
		f.denied(a.name, func() error { return f.patchNode(f.thief, a.node, a.patch, a.subresource) })
	}
	for _, a := range podAttempts {
		f.denied(a.name, func() error { return f.patchPod(f.thief, a.pod, a.patch) })
	}
	for _, a := range podStatusAttempts {
		f.denied(a.name, func() error { return f.patchPod(f.thief, a.pod, a.patch, "status") })
	}
	f.ungated()
	f.denied("a token of no node", func() error { return f.patchNode(f.stray, own, cordon, "") })
	f.denied("no token", func() error { return f.patchNode(f.guise, own, cordon, "") })
	ctx, thief := t.Context(), f.thief
	for name, attempt := range map[string]func() error{
		"delete a pod of another node": func() error {
			return thief.CoreV1().Pods(metav1.NamespaceDefault).Delete(ctx, other, metav1.DeleteOptions{})
		},
		"delete all pods": func() error {
			return thief.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		},
		"create a pod": func() error {
			_, err := thief.CoreV1().Pods(account.Namespace).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}}}, metav1.CreateOptions{})
			return err
		},
		"exec into a pod": func() error {
			return thief.CoreV1().RESTClient().Post().Namespace(metav1.NamespaceDefault).Resource("pods").Name(own).SubResource("exec").
				Param("command", "sh").Do(ctx).Error()
		},
		"reach a kubelet": func() error {
			return thief.CoreV1().RESTClient().Get().Resource("nodes").Name(other).SubResource("proxy").Suffix("pods").Do(ctx).Error()
		},
		"read secrets": func() error {
			_, err := thief.CoreV1().Secrets(account.Namespace).List(ctx, metav1.ListOptions{})
			return err
		},
		"delete its Node": func() error { return thief.CoreV1().Nodes().Delete(ctx, own, metav1.DeleteOptions{}) },
		"delete another Node": func() error {
			return thief.CoreV1().Nodes().Delete(ctx, other, metav1.DeleteOptions{})
		},
		"create a Node": func() error {
			_, err := thief.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "third"}}, metav1.CreateOptions{})
			return err
		},
		"allow itself more": func() error {
			_, err := thief.CoreV1().ConfigMaps(account.Namespace).Patch(ctx, "gpuhealthd-admission", types.MergePatchType, []byte(`{"data":{"cordon":"true"}}`), metav1.PatchOptions{})
			return err
		},
		"lift the policy": func() error {
			return thief.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(ctx, "gpuhealthd-nodes", metav1.DeleteOptions{})
		},
		"a token of another account": func() error {
			return thief.CoreV1().RESTClient().Post().Namespace("kube-system").Resource("serviceaccounts").Name("default").SubResource("token").Do(ctx).Error()
		},
	} {
		f.denied(name, attempt)
	}
}

// ungated tries to open a gate that a pod does not have.
func (f *fleet) ungated() {
	f.t.Helper()
	_, err := f.admin.CoreV1().Pods(metav1.NamespaceDefault).Create(f.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ungated"},
		Spec:       corev1.PodSpec{NodeName: own, Containers: []corev1.Container{{Name: "c", Image: "example.com/serve:1"}}},
	}, metav1.CreateOptions{})
	f.must(err)
	f.denied("a gate that the pod does not have", func() error { return f.patchPod(f.thief, "ungated", shut, "status") })
}

// evictions are the one gap, which SECURITY.md tells. Where this fails the API has
// closed it, and the policy can.
func evictions(t *testing.T, f *fleet) {
	err := f.thief.CoreV1().Pods(metav1.NamespaceDefault).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: other, Namespace: metav1.NamespaceDefault}})
	if err != nil {
		t.Errorf("evict a pod of another node: %v", err)
	}
}
