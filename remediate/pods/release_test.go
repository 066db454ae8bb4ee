package pods

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRelease: what is held on probation has requests again, and what a drain took out has
// not.
func TestRelease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("labelled")
	b.run("gated", gated)
	b.run("degraded")
	b.run("draining")
	b.run("never", closed)
	b.run("plain")
	for name, want := range map[string]State{"labelled": OnProbation, "gated": OnProbation, "degraded": Degraded} {
		if err := b.Settle(t.Context(), b.get(name), want, "why so"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.outOfRotation(t.Context(), b.get("draining"), "xid-95"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]said{
		"labelled": {label: "yes"}, "gated": {gate: "True", reason: ReasonBack}, "degraded": {label: "yes"},
		"draining": {out: "yes", state: Draining}, "never": {}, "plain": {label: "yes"},
	} {
		if got := b.said(name); got != want {
			t.Errorf("%s says %+v, want %+v", name, got, want)
		}
	}
	if n := strings.Count(b.log.String(), "not held any more"); n != 3 {
		t.Errorf("%d pods were told of:\n%s", n, b.log.String())
	}
}

// TestReleaseWithoutRights is said, and tried no more.
func TestReleaseWithoutRights(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	const nobody = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: nobody, namespace: default}}"
	if err := cluster.Apply(t.Context(), []byte(nobody)); err != nil {
		t.Fatal(err)
	}
	account := types.NamespacedName{Namespace: "default", Name: "nobody"}
	cluster.AwaitAllowed(t, account, authorizationv1.ResourceAttributes{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"})
	b := newBench(t)
	options := b.options
	options.Config = cluster.ServiceAccount(t, account, b.name)
	pods, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Release(t.Context()); err != nil || !strings.Contains(b.log.String(), "no right to list pods") {
		t.Errorf("%v, and the log says:\n%s", err, b.log.String())
	}
}
