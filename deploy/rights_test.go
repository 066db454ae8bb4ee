package deploy

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// right is what the account may do with a resource, and nothing more.
type right struct {
	resource authorizationv1.ResourceAttributes
	verbs    string
}

// contained are the rights of modes observe and contain.
func contained() []right {
	return []right{
		{resource("", "nodes", ""), "get list watch patch"},
		{resource("", "nodes/status", ""), "patch"},
		{resource("", "nodes/proxy", ""), ""},
		{resource("events.k8s.io", "events", "default"), "create"},
		{resource("events.k8s.io", "events", "kube-system"), ""},
		{resource("", "events", "default"), ""},
		{resource("", "pods", ""), ""},
		{resource("", "pods/status", ""), ""},
		{resource("", "pods/eviction", "default"), ""},
		{resource("", "pods/exec", "default"), ""},
		{resource("", "pods/ephemeralcontainers", "default"), ""},
		{resource("", "secrets", "gpuhealthd"), ""},
		{resource("", "configmaps", "gpuhealthd"), ""},
		{resource("", "serviceaccounts/token", "gpuhealthd"), ""},
		{resource("coordination.k8s.io", "leases", "gpuhealthd"), "get create update"},
		{resource("coordination.k8s.io", "leases", "kube-node-lease"), ""},
		{resource("resource.k8s.io", "resourceslices", ""), "list"},
		{resource("resource.k8s.io", "devicetaintrules", ""), "get list create delete"},
		{resource("resource.k8s.io", "resourceclaims", "default"), ""},
		{resource("apps", "daemonsets", "gpuhealthd"), ""},
		{resource("rbac.authorization.k8s.io", "clusterroles", ""), ""},
		{resource("admissionregistration.k8s.io", "validatingadmissionpolicybindings", ""), ""},
	}
}

// with changes some of the rights.
func with(all []right, changed ...right) []right {
	for _, c := range changed {
		at := slices.IndexFunc(all, func(r right) bool { return r.resource == c.resource })
		all[at] = c
	}
	return all
}

// TestTheAccountMayDoWhatTheAgentDoes asks the real authorizer, for each step of
// deploying more, all that may matter.
func TestTheAccountMayDoWhatTheAgentDoes(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	apply(t, cluster, manifest)
	rights := contained()
	cluster.AwaitAllowed(t, account, withVerb(rights[0].resource, "patch"))
	cluster.AwaitAllowed(t, account, withVerb(resource("events.k8s.io", "events", "default"), "create"))
	onlyThese(t, cluster, manifest, rights)

	apply(t, cluster, "repair.yaml")
	cluster.AwaitAllowed(t, account, withVerb(resource("", "pods", ""), "list"))
	rights = with(rights,
		right{resource("", "pods", ""), "list patch"},
		right{resource("", "pods/eviction", "default"), "create"},
		right{resource("events.k8s.io", "events", "kube-system"), "create"})
	onlyThese(t, cluster, "repair.yaml", rights)

	apply(t, cluster, "repair-force.yaml")
	cluster.AwaitAllowed(t, account, withVerb(resource("", "pods", ""), "delete"))
	rights = with(rights, right{resource("", "pods", ""), "list patch delete"})
	onlyThese(t, cluster, "repair-force.yaml", rights)

	apply(t, cluster, "serving.yaml")
	cluster.AwaitAllowed(t, account, withVerb(resource("", "pods/status", ""), "patch"))
	onlyThese(t, cluster, "serving.yaml", with(rights,
		right{resource("", "pods", ""), "get list watch patch delete"},
		right{resource("", "pods/status", ""), "patch"}))
}

// onlyThese fails the test where the account may do more or less.
func onlyThese(t *testing.T, cluster *kubetest.Cluster, after string, rights []right) {
	t.Helper()
	every := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	for _, r := range rights {
		may := strings.Fields(r.verbs)
		for _, verb := range every {
			what := withVerb(r.resource, verb)
			allowed, err := cluster.Allowed(t.Context(), account, what)
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(may, verb); allowed != want {
				t.Errorf("after %s: %s %s/%s %s in namespace %q: allowed %t, want %t",
					after, verb, what.Group, what.Resource, what.Subresource, what.Namespace, allowed, want)
			}
		}
	}
}

func withVerb(what authorizationv1.ResourceAttributes, verb string) authorizationv1.ResourceAttributes {
	what.Verb = verb
	return what
}

// resource names a resource, or with a slash one of its subresources.
func resource(group, name, namespace string) authorizationv1.ResourceAttributes {
	name, sub, _ := strings.Cut(name, "/")
	return authorizationv1.ResourceAttributes{Group: group, Resource: name, Subresource: sub, Namespace: namespace}
}
