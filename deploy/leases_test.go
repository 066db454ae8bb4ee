package deploy

import (
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	leasing "github.com/gpuhealthd/gpuhealthd/remediate/fleet"
)

// leaseRights are more than an agent ever has, so that the policy alone says no.
const leaseRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leases}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}
- {apiGroups: [resource.k8s.io], resources: [devicetaintrules, devicetaintrules/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: leases}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: leases}
subjects:
- {kind: ServiceAccount, name: gpuhealthd, namespace: gpuhealthd}
`

// leases are held in the node's own name, in the agents' own namespace, and are the
// agents' by their names.
func leases(t *testing.T, f *fleet) {
	ctx, ours, group := t.Context(), account.Namespace, leasing.LeaseName("cluster")
	create := func(namespace, name, holder string, notes ...string) error {
		l := held(name, holder)
		l.Annotations = map[string]string{leasing.GroupAnnotation: "cluster"}
		for _, key := range notes {
			l.Annotations[key] = "x"
		}
		_, err := f.thief.CoordinationV1().Leases(namespace).Create(ctx, l, metav1.CreateOptions{})
		return err
	}
	f.denied("a kubelet's Lease", func() error { return create(corev1.NamespaceNodeLease, other, own) })
	f.denied("our name in another namespace", func() error { return create(corev1.NamespaceNodeLease, group, own) })
	f.denied("a Lease in another's name", func() error { return create(ours, group, other) })
	f.denied("an operator's Lease beside ours", func() error { return create(ours, "gpuhealthd-operator", own) })
	f.denied("a name that only begins as ours", func() error { return create(ours, group+"-x", own) })
	f.denied("a Lease that clears outbreaks", func() error { return create(ours, group, own, leasing.ClearedAnnotation) })
	f.denied("a Lease by a token of no node", func() error {
		_, err := f.stray.CoordinationV1().Leases(ours).Create(ctx, held(group, ""), metav1.CreateOptions{})
		return err
	})
	_, err := f.admin.CoordinationV1().Leases(ours).Create(ctx, held("leader-election", "somebody"), metav1.CreateOptions{})
	f.must(err)
	f.must(create(ours, group, own))
	patch := func(name, body string) error {
		_, err := f.thief.CoordinationV1().Leases(ours).Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	hold := func(name, holder string) error {
		return patch(name, fmt.Sprintf(`{"spec":{"holderIdentity":%q}}`, holder))
	}
	f.must(hold(group, ""))
	f.must(hold(group, own))
	f.must(patch(group, `{"metadata":{"annotations":{"gpuhealthd.io/released":"{}"}}}`))
	f.must(patch(group, `{"metadata":{"annotations":{"`+leasing.TurnAnnotation+`":"{}"}}}`))
	f.denied("a label on a Lease", func() error { return patch(group, `{"metadata":{"labels":{"app":"x"}}}`) })
	busy := held(leasing.LeaseName("pool=busy"), other)
	busy.Annotations = map[string]string{leasing.GroupAnnotation: "pool=busy"}
	_, err = f.admin.CoordinationV1().Leases(ours).Create(ctx, busy, metav1.CreateOptions{})
	f.must(err)
	f.denied("let go of another's Lease", func() error { return hold(busy.Name, "") })
	f.must(hold(busy.Name, own)) // as an agent does once the other is not heard of: SECURITY.md has it
	f.denied("hand a Lease over", func() error { return hold(group, other) })
	f.denied("take another application's Lease", func() error { return hold("leader-election", own) })
	f.denied("make a group's Lease another's", func() error { return patch(group, `{"metadata":{"annotations":{"gpuhealthd.io/group":"x"}}}`) })
	f.denied("clear outbreaks", func() error {
		return patch(group, `{"metadata":{"annotations":{"gpuhealthd.io/outbreaks-cleared":"2100-01-01T00:00:00Z"}}}`)
	})
	f.denied("a finalizer on a Lease", func() error { return patch(group, `{"metadata":{"finalizers":["example.com/stay"]}}`) })
	f.denied("delete a Lease", func() error {
		return f.thief.CoordinationV1().Leases(ours).Delete(ctx, group, metav1.DeleteOptions{})
	})
}

func held(name, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}
