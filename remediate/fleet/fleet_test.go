package fleet

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// One node at a time is given leave, and the next once that is seen.
func TestOneNodeAtATime(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "turns", 20)
	key := account(t, cluster, "turns")
	a := newAsker(t, cluster.ServiceAccount(t, key, nodes[0]), nodes[0], nil)
	b := newAsker(t, cluster.ServiceAccount(t, key, nodes[1]), nodes[1], nil)
	cordon := want(fault.XID74, guard.Cordon, false)

	began := time.Now()
	answer, survey := a.Ask(t.Context(), cordon, false)
	if said(answer) != "granted cordon" || !answer.Leave || survey.Group != "pool=turns" || survey.Nodes != 20 || survey.Budget != 2 || survey.Error != "" {
		t.Fatalf("%s, %+v", said(answer), survey)
	}
	if left := answer.Until.Sub(began); left > LeaveTime+time.Second || left < LeaveTime {
		t.Errorf("the leave is good for %s", left)
	}
	t.Logf("calls for a leave: %s", a.calls.take())
	if answer, _ := b.Ask(t.Context(), cordon, false); !strings.Contains(said(answer), "turns-0 is just given it") {
		t.Error(said(answer))
	}
	if err := a.Settle(t.Context(), false); !errors.Is(err, errKept) {
		t.Errorf("a leave that is not seen is given back: %v", err)
	}
	label(t, cluster, nodes[0], map[string]string{remediate.LabelState: "quarantined", remediate.LabelFault: "xid-74", "leave": "yes"})
	if err := a.Settle(t.Context(), true); err != nil {
		t.Error(err)
	}
	if answer, survey := b.Ask(t.Context(), cordon, false); said(answer) != "granted cordon" || survey.Out != 1 || survey.Leave != 1 {
		t.Errorf("%s, %+v", said(answer), survey)
	}
	label(t, cluster, nodes[1], map[string]string{remediate.LabelState: "quarantined", "leave": "yes"})
	if err := b.Settle(t.Context(), true); err != nil {
		t.Error(err)
	}

	c := newAsker(t, cluster.ServiceAccount(t, key, nodes[2]), nodes[2], nil)
	if answer, _ := c.Ask(t.Context(), cordon, false); said(answer) != "cordon held by budget: 2 nodes of 20 in pool=turns are out of service, and 2 may be" {
		t.Error(said(answer))
	}
	if got := c.calls.take(); got != "get nodes, list nodes, get leases, list nodes" {
		t.Errorf("a node that is held calls %s", got)
	}
	if answer, _ := c.Ask(t.Context(), cordon, false); len(answer.Held) != 1 || c.calls.take() != "get nodes, get leases, list nodes" {
		t.Error("it asks for the group's size each time")
	}
	// Whoever has leave goes on by it, and waits for nobody.
	if answer, _ := a.Ask(t.Context(), want(fault.XID74, guard.Reset, false), true); said(answer) != "granted reset" || answer.Leave {
		t.Errorf("%s, a new leave %v", said(answer), answer.Leave)
	}
	// A rack that failed as a whole is repaired all the same, as far as there is room.
	label(t, cluster, nodes[1], map[string]string{remediate.LabelState: "quarantined", remediate.LabelFault: "xid-79"})
	if answer, _ := c.Ask(t.Context(), want(fault.XID79, guard.Drain, true), false); said(answer) != "granted drain" {
		t.Error(said(answer))
	}
}

// An agent that died with the Lease holds up its group for so long, and no longer.
func TestALeaseThatIsForgotten(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "dead", 3)
	a := newAsker(t, cluster.Admin(), nodes[0], nil)
	b := newAsker(t, cluster.Admin(), nodes[1], nil)
	b.lease.time = 300 * time.Millisecond
	cordon := want(fault.XID74, guard.Cordon, false)
	if answer, _ := a.Ask(t.Context(), cordon, false); said(answer) != "granted cordon" {
		t.Fatal(said(answer))
	}
	waited := time.Now()
	for {
		answer, survey := b.Ask(t.Context(), cordon, false)
		if survey.Error != "" {
			t.Fatal(survey.Error)
		}
		if len(answer.Granted) == 1 {
			break
		}
	}
	if took := time.Since(waited); took < b.lease.time {
		t.Errorf("taken after %s", took)
	}
	// What the first gives back late is not its own any more.
	a.arrives = time.Time{}
	if err := a.Settle(t.Context(), true); err != nil {
		t.Error(err)
	}
	lease, err := b.lease.get(t.Context(), LeaseName("pool=dead"))
	if err != nil || value(lease.Spec.HolderIdentity) != nodes[1] || lease.Annotations[GroupAnnotation] != "pool=dead" {
		t.Errorf("%v, %+v", err, lease)
	}
}

// The group is the NVLink domain, else what the site's label says, else the cluster.
func TestGroups(t *testing.T) {
	cluster := shared.Cluster(t)
	node := peers(t, cluster, "groups", 1)[0]
	for _, c := range []struct {
		labels map[string]string
		want   string
	}{
		{map[string]string{remediate.LabelDomain: "d1"}, remediate.LabelDomain + "=d1"},
		{map[string]string{remediate.LabelDomain: ""}, "pool=groups"},
		{map[string]string{"pool": ""}, "cluster"},
	} {
		label(t, cluster, node, c.labels)
		if _, survey := newAsker(t, cluster.Admin(), node, nil).Ask(t.Context(), want(fault.XID74, guard.Cordon, false), false); survey.Group != c.want || survey.Error != "" {
			t.Errorf("%v: %+v", c.labels, survey)
		}
	}
}

// An outbreak is seen by when each node told the fault, and a person clears it.
func TestOutbreak(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "outbreak", 6)
	for _, name := range nodes[1:3] {
		label(t, cluster, name, map[string]string{remediate.LabelState: "suspect", remediate.LabelFault: "fabric-manager-dead"})
	}
	a := newAsker(t, cluster.Admin(), nodes[0], func(o *Options) { o.Rules.Wait = 0 })
	ask := func() string {
		asks := want("links-down", guard.Reboot, false)
		asks[0].Since = time.Now()
		answer, survey := a.Ask(t.Context(), asks, false)
		if err := a.Settle(t.Context(), true); err != nil || survey.Error != "" {
			t.Error(err, survey.Error)
		}
		return said(answer)
	}
	if got := ask(); got != "reboot held by outbreak: links-down on 3 nodes of 6 in pool=outbreak within 10m0s, which looks like a rollout" {
		t.Error(got)
	}
	// A person can clear it by the command that is told, the group's first as well.
	leases := kubernetes.NewForConfigOrDie(cluster.Admin()).CoordinationV1().Leases("default")
	if l, err := leases.Get(t.Context(), LeaseName("pool=outbreak"), metav1.GetOptions{}); err != nil || value(l.Spec.HolderIdentity) != "" || l.Annotations[GroupAnnotation] != "pool=outbreak" {
		t.Errorf("%v, %+v", err, l)
	}
	request := want("links-down", guard.Request, true)
	request[0].Since = time.Now()
	answer, _ := a.Ask(t.Context(), request, false)
	if h := answer.Held[0].Holds[0]; h.Kind != guard.Rollout || !strings.Contains(h.Until, "kubectl annotate lease -n default "+LeaseName("pool=outbreak")+" --overwrite "+ClearedAnnotation+"=") {
		t.Errorf("%+v", h)
	}
	label(t, cluster, nodes[1], map[string]string{remediate.LabelState: "healthy", remediate.LabelFault: ""})
	a.calls.take()
	answer, _ = a.Ask(t.Context(), request, false)
	if calls := a.calls.take(); said(answer) != "granted request" || !answer.Until.After(time.Now()) || answer.Leave || strings.Contains(calls, "update") {
		t.Errorf("to ask others takes a leave, or is void: %+v; calls %s", answer, calls)
	}
	if got := ask(); got != "granted reboot" {
		t.Error(got)
	}
	label(t, cluster, nodes[1], map[string]string{remediate.LabelState: "suspect", remediate.LabelFault: "links-down"})
	clear := `{"metadata":{"annotations":{"` + ClearedAnnotation + `":"` + time.Now().Add(time.Second).UTC().Format(time.RFC3339) + `"}}}`
	_, err := leases.Patch(t.Context(), LeaseName("pool=outbreak"), types.MergePatchType, []byte(clear), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != "granted reboot" {
		t.Error(got)
	}
}

// Nodes go back to service one budget at a time.
func TestRamp(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "ramp", 20)
	var got []string
	for _, name := range nodes[:3] {
		a := newAsker(t, cluster.Admin(), name, nil)
		answer, _ := a.Ask(t.Context(), want(fault.XID95, guard.Release, true), true)
		got = append(got, said(answer))
		if err := a.Settle(t.Context(), true); err != nil {
			t.Error(err)
		}
	}
	if got[0] != "granted release" || got[1] != "granted release" || got[2] != "release held by ramp: 2 nodes of pool=ramp went back to service within 1m0s" {
		t.Errorf("%q", got)
	}
	busy, next := newAsker(t, cluster.Admin(), nodes[4], nil), newAsker(t, cluster.Admin(), nodes[5], nil)
	busy.Ask(t.Context(), want(fault.XID74, guard.Cordon, false), false)
	if answer, _ := next.Ask(t.Context(), want(fault.XID95, guard.Release, true), true); said(answer) != "release held by ramp: leave is given to one node at a time, and ramp-4 is just given it" {
		t.Error(said(answer))
	}
}

// Who cannot ask is held, and hears why.
func TestWithoutRightsEverythingIsHeld(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "rights", 1)
	if err := cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: nothing, namespace: default}}")); err != nil {
		t.Fatal(err)
	}
	a := newAsker(t, cluster.ServiceAccount(t, types.NamespacedName{Namespace: "default", Name: "nothing"}, ""), nodes[0], nil)
	answer, survey := a.Ask(t.Context(), want(fault.XID74, guard.Cordon, false), false)
	if len(answer.Granted) > 0 || !strings.HasPrefix(said(answer), "cordon held by budget: the group cannot be asked: get node rights-0: ") || !strings.Contains(survey.Error, "forbidden") {
		t.Errorf("%s, %+v", said(answer), survey)
	}
}
