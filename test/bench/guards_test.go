package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// guardLives is how many lives of the daemon are measured of each kind.
const guardLives = 12

// BenchmarkGuardsOnAgainstOff: a hard fault's cordon asks nobody, so that the guards
// must cost it nothing. Both take turns.
func BenchmarkGuardsOnAgainstOff(b *testing.B) {
	cluster := shared.Cluster(b)
	programs.Deploy(b, cluster)
	for b.Loop() {
		var on, off []time.Duration
		for life := range guardLives {
			// Who goes first changes, so that what else the machine does meets both.
			for turn := range 2 {
				if name := fmt.Sprintf("guarded-%d", life); (life+turn)%2 == 0 {
					on = append(on, lifeWith(b, cluster, name, guarded)...)
				} else {
					off = append(off, lifeWith(b, cluster, "un"+name, func(*daemontest.Daemon) {})...)
				}
			}
		}
		p50, p99 := quantiles(b, "on", on)
		least50, least99 := quantiles(b, "off", off)
		b.ReportMetric(p50/least50, "p50-ratio")
		b.ReportMetric(p99/least99, "p99-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// guarded has the guards on, as a site has them.
func guarded(d *daemontest.Daemon) { d.Config.Guards.Enabled = true }

// BenchmarkCallsOfAnIncident counts the requests to the API server from a fault until
// the node serves again, with every guard on and looking at the load: of a hard fault,
// and of a soft one, which asks its group for leave.
func BenchmarkCallsOfAnIncident(b *testing.B) {
	cluster := shared.Cluster(b)
	programs.Deploy(b, cluster)
	load := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`))
	}))
	defer load.Close()
	manifest := contract
	for n := range 19 {
		manifest += fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: calls-%d, labels: {gpuhealthd.io/state: healthy, gpuhealthd.io/gpus-healthy: '8'}}}\n", n)
	}
	if err := cluster.Apply(b.Context(), []byte(manifest)); err != nil {
		b.Fatal(err)
	}
	cluster.AwaitAllowed(b, daemontest.Account(), authorizationv1.ResourceAttributes{Verb: "get", Resource: "configmaps", Name: "capacity", Namespace: "gpuhealthd"})
	d := programs.New(b)
	d.OnCluster(cluster, "calls", daemontest.Account())
	guarded(d)
	d.Config.Guards.Capacity.Contract, d.Config.Guards.Capacity.Prometheus = "gpuhealthd/capacity", load.URL
	s := observe(b, cluster, "calls")
	d.StartReady()
	for b.Loop() {
		d.AwaitSettled()
		for name, fault := range map[string]func(gpu int, there bool){
			"soft": func(gpu int, there bool) { d.Must(d.Sim.Recovery(d.GPU(gpu).UUID, map[bool]int{true: 1}[there])) },
			"hard": func(gpu int, there bool) { memoryError(d, gpu, there) },
		} {
			before := d.Metric("api_request_seconds_count")
			fault(3, true)
			s.cordoned(time.Now())
			fault(3, false)
			s.await(time.Now(), func(n *corev1.Node) bool { return n.Labels["gpuhealthd.io/state"] == "healthy" })
			d.AwaitSettled()
			b.ReportMetric(d.Metric("api_request_seconds_count")-before, name+"-requests")
		}
		b.ReportMetric(0, "ns/op")
	}
}

// memoryError is a hard fault, or the driver's word that it wants nothing any more.
func memoryError(d *daemontest.Daemon, gpu int, there bool) {
	g := d.GPU(gpu)
	if there {
		d.Must(d.Sim.Recovery(g.UUID, 1))
		d.Say(daemontest.XID(g.PCI, daemontest.Uncontained))
		d.Say(daemontest.XID(g.PCI, daemontest.ResetWanted))
		return
	}
	d.Must(d.Sim.Recovery(g.UUID, 0))
	d.Say(daemontest.XID(g.PCI, daemontest.NoneWanted))
}

// contract is a capacity contract, and the right to read it.
const contract = `
apiVersion: v1
kind: ConfigMap
metadata: {name: capacity, namespace: gpuhealthd}
data: {contract.yaml: "{perNode: 100, gpus: 8, demand: d, queueAge: a, objective: 2s}"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: gpuhealthd-contract, namespace: gpuhealthd}
rules:
- {apiGroups: [""], resources: [configmaps], resourceNames: [capacity], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: gpuhealthd-contract, namespace: gpuhealthd}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: gpuhealthd-contract}
subjects: [{kind: ServiceAccount, name: gpuhealthd, namespace: gpuhealthd}]
`

// together is how many nodes of a rack fail at once, rounds how often.
const (
	together = 18
	rounds   = 5
)

// BenchmarkARackAtOnce: 18 daemons, each with its guards on and in one group, hear of a
// hard fault in the same moment. From before the first line is written until the last
// node is cordoned.
func BenchmarkARackAtOnce(b *testing.B) {
	cluster := shared.Cluster(b)
	programs.Deploy(b, cluster)
	var all []*daemontest.Daemon
	var seen []*subject
	for n := range together {
		d := programs.New(b)
		d.OnCluster(cluster, fmt.Sprintf("at-once-%d", n), daemontest.Account())
		guarded(d)
		seen = append(seen, observe(b, cluster, fmt.Sprintf("at-once-%d", n)))
		d.StartReady()
		all = append(all, d)
	}
	for b.Loop() {
		var took []time.Duration
		for gpu := range rounds {
			for _, d := range all {
				d.AwaitSettled()
			}
			began := time.Now()
			for _, d := range all {
				d.Must(inject(d, daemontest.XID(pci(gpu), daemontest.Uncontained)))
			}
			var last time.Duration
			for _, s := range seen {
				last = max(last, s.cordoned(began))
			}
			took = append(took, last)
			for n, s := range seen {
				all[n].AwaitSettled()
				s.release()
			}
		}
		quantiles(b, "last-of-18", took)
		b.ReportMetric(0, "ns/op")
	}
}
