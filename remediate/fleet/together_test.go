package fleet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

// carrying makes four nodes of two pools that together carry what three of them may.
func carrying(t *testing.T, cluster *kubetest.Cluster, name string) []string {
	t.Helper()
	var nodes []string
	for n := range 2 {
		nodes = append(nodes, peers(t, cluster, fmt.Sprintf("%s-%d", name, n), 2)...)
	}
	for _, n := range nodes {
		label(t, cluster, n, map[string]string{"serves": name})
	}
	contract := `{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: default}, data: {contract.yaml: "group: serves=%[1]s\nperNode: 100\ndemand: x"}}`
	if err := cluster.Apply(t.Context(), fmt.Appendf(nil, contract, name)); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// loaded asks under a contract, for whose demand a Prometheus answers; before it does,
// something may happen.
func loaded(t *testing.T, cluster *kubetest.Cluster, contract, node string, happens func()) *asker {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		happens()
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"200"]}}`)
	}))
	t.Cleanup(server.Close)
	return newAsker(t, cluster.Admin(), node, func(o *Options) {
		o.Contract, o.Prometheus, o.Rules.Budget = ConfigMap{"default", contract}, server.URL, guard.Share{Least: 4}
	})
}

// goes has a node go out by the leave that it has.
func goes(t *testing.T, cluster *kubetest.Cluster, a *asker) {
	label(t, cluster, a.Node, map[string]string{remediate.LabelState: "quarantined", "leave": "yes"})
	if err := a.Settle(t.Context(), true); err != nil {
		t.Error(err)
	}
}

// Who asks a slow Prometheus counts those who went out meanwhile.
func TestTheLoadIsCountedWithTheLease(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := carrying(t, cluster, "slow")
	cordon := want(fault.XID74, guard.Cordon, false)
	first := loaded(t, cluster, "slow", nodes[0], func() {})
	second := loaded(t, cluster, "slow", nodes[1], func() {
		if answer, _ := first.Ask(t.Context(), cordon, false); said(answer) != "granted cordon" {
			t.Error(said(answer))
		}
		goes(t, cluster, first)
	})
	if answer, _ := second.Ask(t.Context(), cordon, false); !strings.HasPrefix(said(answer), "cordon held by capacity: the nodes left in pool=slow-0 would carry 100 %") {
		t.Error(said(answer))
	}
}

// The nodes of a contract ask one at a time, of whatever groups they are.
func TestAContractOfSeveralGroups(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := carrying(t, cluster, "wide")
	cordon := want(fault.XID74, guard.Cordon, false)
	first, second := loaded(t, cluster, "wide", nodes[0], func() {}), loaded(t, cluster, "wide", nodes[2], func() {})
	if answer, _ := first.Ask(t.Context(), cordon, false); said(answer) != "granted cordon" {
		t.Fatal(said(answer))
	}
	if answer, survey := second.Ask(t.Context(), cordon, false); said(answer) != "cordon held by budget: leave is given to one node at a time, and wide-0-0 is just given it" || survey.Group != "pool=wide-1" {
		t.Errorf("%s, %+v", said(answer), survey)
	}
	if second.lease.have != nil || second.load.have != nil {
		t.Error("who is not given leave keeps a Lease")
	}
	goes(t, cluster, first)
	if answer, _ := second.Ask(t.Context(), cordon, false); !strings.HasPrefix(said(answer), "cordon held by capacity: ") {
		t.Error(said(answer))
	}
}
