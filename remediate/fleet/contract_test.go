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
)

func TestAContractIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"perNode: 1\ndemand: x":                     "",
		"":                                          "perNode: 0 is not above zero",
		"perNode: .nan\ndemand: x":                  "perNode: NaN is not above zero",
		"perNode: 1":                                "demand: empty",
		"perNode: 1\ndemand: x\nmaxLoad: 0":         "maxLoad: 0 is not a percentage above zero",
		"perNode: 1\ndemand: x\nobjective: 2s":      "objective: given, and queueAge is empty",
		"perNode: 1\ndemand: x\nperNodes: 2":        "field perNodes not found",
		"perNode: 1\ndemand: x\ngroup: 'a in b'":    "group: \"a in b\" is not a label selector",
		"perNode: 1\ndemand: x\nshed: [{class: a}]": "shed[0]: want class and demand",
		"perNode: 1\ndemand: x\nminimum: -1":        "minimum: -1 is not a number from 0 on",
		"perNode: 1\ndemand: x\nminimum: .inf":      "minimum: +Inf is not a number from 0 on",
		"perNode: 1\ndemand: x\nobjective: 2":       "cannot unmarshal",
	} {
		_, err := ParseContract([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What cannot be an age or a demand is not known.
func TestAnAge(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0s", 1.5: "1.5s", -1: "-1 s is no age", 1e300: "1e+300 s is no age"} {
		if got, err := age(seconds); fmt.Sprint(got) != want && (err == nil || err.Error() != want) {
			t.Errorf("%v: %v, %v", seconds, got, err)
		}
	}
}

// The load is what the contract's nodes carry, by Prometheus; what is not known
// holds.
func TestLoad(t *testing.T) {
	cluster := shared.Cluster(t)
	nodes := peers(t, cluster, "load", 4)
	label(t, cluster, nodes[1], map[string]string{remediate.LabelState: "suspect", remediate.LabelGPUs: "4"})
	label(t, cluster, nodes[2], map[string]string{remediate.LabelState: "failed"})
	label(t, cluster, nodes[3], map[string]string{"pool": "load", remediate.LabelState: "healthy"})
	demand, status := "100", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"scalar","result":[1,%q]}}`, map[string]string{"demand": demand, "batch": "40", "age": "1.5"}[r.URL.Query().Get("query")])
	}))
	defer server.Close()
	contract := "{apiVersion: v1, kind: ConfigMap, metadata: {name: load, namespace: default}, data: {contract.yaml: \"" +
		`group: pool=load\nunit: r/s\nperNode: 100\ngpus: 8\ndemand: demand\nqueueAge: age\nobjective: 2s\nshed: [{class: batch, demand: batch}]` + "\"}}"
	a := newAsker(t, cluster.Admin(), nodes[0], func(o *Options) {
		o.Contract, o.Prometheus, o.Rules.Budget = ConfigMap{"default", "load"}, server.URL, guard.Share{Least: 4}
	})
	ask := func() (string, *guard.Load) {
		answer, survey := a.Ask(t.Context(), want(fault.XID74, guard.Cordon, false), false)
		if err := a.Settle(t.Context(), true); err != nil {
			t.Error(err)
		}
		return said(answer), survey.Load
	}
	if got, _ := ask(); !strings.HasPrefix(got, "cordon held by capacity: the load is not known: get configmap default/load: ") {
		t.Error(got)
	}
	if err := cluster.Apply(t.Context(), []byte(contract)); err != nil {
		t.Fatal(err)
	}
	if got, l := ask(); got != "granted cordon" || l.Serving != 2.5 || l.Own != 1 || l.Capacity() != 250 || l.QueueAge.Seconds() != 1.5 {
		t.Errorf("%s, %+v", got, l)
	}
	demand = "130"
	if got, l := ask(); got != "cordon held by capacity: the nodes left in pool=load would carry 87 % of their tested capacity, and 80 % is the most" || len(l.WouldShed()) > 0 {
		t.Errorf("%s, %+v", got, l)
	}
	demand = "210"
	if got, l := ask(); !strings.Contains(got, "140 %") || fmt.Sprint(l.WouldShed()) != "[batch]" {
		t.Errorf("%s, %+v", got, l)
	}
	demand, status = "100", http.StatusInternalServerError
	if got, _ := ask(); !strings.Contains(got, "the load is not known") || !strings.Contains(got, "500 Internal Server Error") {
		t.Errorf("an error with a number: %s", got)
	}
	server.Close()
	if got, _ := ask(); !strings.Contains(got, "the load is not known") {
		t.Error(got)
	}
}
