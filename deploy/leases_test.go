package deploy

import (
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// leaseRights are more than an agent ever has, so that the policy alone says no.
const leaseRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leases}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: leases}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: leases}
subjects:
- {kind: ServiceAccount, name: gpuhealthd, namespace: gpuhealthd}
`

// leases are held in the node's own name, in the agents' own namespace.
func leases(t *testing.T, f *fleet) {
	ctx, ours := t.Context(), account.Namespace
	create := func(namespace, name, holder string) error {
		_, err := f.thief.CoordinationV1().Leases(namespace).Create(ctx, held(name, holder), metav1.CreateOptions{})
		return err
	}
	f.denied("a kubelet's Lease", func() error { return create(corev1.NamespaceNodeLease, other, own) })
	f.denied("a Lease in another's name", func() error { return create(ours, "group", other) })
	f.denied("a Lease by a token of no node", func() error {
		_, err := f.stray.CoordinationV1().Leases(ours).Create(ctx, held("group", ""), metav1.CreateOptions{})
		return err
	})
	f.must(create(ours, "group", own))
	hold := func(holder string) error {
		patch := []byte(fmt.Sprintf(`{"spec":{"holderIdentity":%q}}`, holder))
		_, err := f.thief.CoordinationV1().Leases(ours).Patch(ctx, "group", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	f.must(hold(""))
	f.must(hold(own))
	f.denied("hand a Lease over", func() error { return hold(other) })
	f.denied("delete a Lease", func() error {
		return f.thief.CoordinationV1().Leases(ours).Delete(ctx, "group", metav1.DeleteOptions{})
	})
}

func held(name, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}
