package kube

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

func TestWithoutRightsEverythingIsForbidden(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	b := with(t, cluster, nodeName(t), account(t, cluster, ""))
	if _, err := b.Apply(t.Context(), quarantined("a")); Classify(err) != Forbidden {
		t.Errorf("apply: %s: %v", Classify(err), err)
	}
	if err := b.Emit(t.Context(), happened("incident/1")); Classify(err) != Forbidden {
		t.Errorf("emit: %s: %v", Classify(err), err)
	}
	if b.requests.count("get nodes 403") == 0 || b.requests.count("create events 403") == 0 {
		t.Errorf("observed %v", b.requests.seen)
	}
}

// An agent that may not cordon still tells its condition, and says 403.
func TestWithoutTheRightToCordonTheConditionIsTold(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	b := with(t, cluster, nodeName(t), account(t, cluster, `
- {apiGroups: [""], resources: [nodes], verbs: [get]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}`))
	got, err := b.Apply(t.Context(), quarantined("a"))
	if Classify(err) != Forbidden || got.Unschedulable || !got.Exists {
		t.Errorf("%s: %v, observed %+v", Classify(err), err, got)
	}
	if n := len(b.object(t).Status.Conditions); n != 2 {
		t.Errorf("%d conditions", n)
	}
}

// account makes a service account named after the test with the rules, if any.
func account(t *testing.T, cluster *kubetest.Cluster, rules string) *rest.Config {
	t.Helper()
	name := nodeName(t)
	manifest := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: " + name + ", namespace: default}\n"
	if rules != "" {
		manifest += "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + "}\nrules:" + rules +
			"\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: " + name + "}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + name + "}\n" +
			"subjects: [{kind: ServiceAccount, name: " + name + ", namespace: default}]\n"
	}
	if err := cluster.Apply(t.Context(), []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: name}
	if rules != "" {
		cluster.AwaitAllowed(t, key, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "nodes", Subresource: "status"})
	}
	return cluster.ServiceAccount(t, key, "")
}

// A stopped API server is an error each time, and no obstacle afterwards: the
// same Node, client and watch go on.
func TestTheAPIServerGoesAwayAndComesBack(t *testing.T) {
	cluster := kubetest.Start(t)
	b := onNode(t, cluster)
	told := b.watching(t)
	b.apply(t, healthy())
	cluster.StopAPIServer()
	for range 3 {
		if _, err := b.Apply(t.Context(), quarantined("a")); Classify(err) != Unreachable {
			t.Errorf("apply: %s: %v", Classify(err), err)
		}
	}
	if err := b.Emit(t.Context(), happened("incident/1")); Classify(err) != Unreachable {
		t.Errorf("emit: %s: %v", Classify(err), err)
	}
	if err := cluster.StartAPIServer(); err != nil {
		t.Fatal(err)
	}
	if got := b.apply(t, quarantined("a")); !got.Unschedulable || !got.Tainted {
		t.Errorf("observed %+v", got)
	}
	b.edit(t, uncordon)
	// The watch's delay may have grown to some seconds meanwhile.
	b.await(t, told, func(o remediate.Observed) bool { return o.Note != nil && !o.Unschedulable })
}

// front is a proxy before the API server that can spoil requests.
func front(t *testing.T, config *rest.Config, spoil func(http.ResponseWriter, *http.Request) bool) *rest.Config {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !spoil(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestAThrottledWriteWaitsAsItIsTold(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	var refused atomic.Int32
	b := with(t, cluster, nodeName(t), front(t, cluster.Admin(), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || refused.Add(1) > 2 {
			return false
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}))
	start := time.Now()
	if got := b.apply(t, quarantined("a")); !got.Unschedulable {
		t.Errorf("observed %+v", got)
	}
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("told twice to wait a second, and done after %v", took)
	}
	if n := b.requests.count("patch nodes 429"); n != 2 {
		t.Errorf("observed %v", b.requests.seen)
	}
}

func TestAThrottledWriteIsClassified(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	b := with(t, cluster, nodeName(t), front(t, cluster.Admin(), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return r.Method == http.MethodPatch
	}))
	if _, err := b.Apply(t.Context(), quarantined("a")); Classify(err) != Throttled {
		t.Errorf("%s: %v", Classify(err), err)
	}
}

// The answer to the first write is lost: it may have happened or not.
func TestAnAnswerThatIsLost(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	direct := with(t, cluster, nodeName(t), cluster.Admin())
	var lost atomic.Bool
	b := with(t, cluster, nodeName(t), front(t, cluster.Admin(), func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || lost.Swap(true) {
			return false
		}
		if _, err := direct.Apply(r.Context(), quarantined("a")); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler)
	}))
	if _, err := b.Apply(t.Context(), quarantined("a")); err != nil && Classify(err) != Unreachable {
		t.Errorf("%s: %v", Classify(err), err)
	}
	got := b.apply(t, quarantined("a"))
	if !got.Unschedulable || got.Note == nil || got.Note.Owner != remediate.OwnerAgent {
		t.Errorf("observed %+v", got)
	}
}

// A server that never answers holds a caller up no longer than the caller
// wants.
func TestASilentServerIsLeftWhenTheCallerWants(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	b := with(t, cluster, nodeName(t), front(t, cluster.Admin(), func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.Apply(ctx, quarantined("a")); Classify(err) != Unreachable {
		t.Errorf("%s: %v", Classify(err), err)
	}
}

// A wish that the API server refuses is an error that names the field, and not
// retried for ever.
func TestAWishThatIsNotValid(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	want := healthy()
	want.Fault = "not a label value!"
	_, err := b.Apply(t.Context(), want)
	if Classify(err) != Invalid {
		t.Errorf("%s: %v", Classify(err), err)
	}
	if n := b.requests.count("patch"); n != 1+races {
		t.Errorf("%d trials", n)
	}
}

func TestAClusterIsFoundByAKubeconfig(t *testing.T) {
	cluster := shared.Cluster(t)
	config, err := Config(kubetest.Kubeconfig(t, cluster.Admin()), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	cluster.CreateNode(t, nodeName(t))
	var agent atomic.Value
	spied := front(t, config, func(_ http.ResponseWriter, r *http.Request) bool {
		agent.Store(r.UserAgent())
		return false
	})
	spied.UserAgent = config.UserAgent
	with(t, cluster, nodeName(t), spied).apply(t, healthy())
	if agent.Load() != "gpuhealthd/1.2.3" {
		t.Errorf("user agent %v", agent.Load())
	}
	if _, err := Config("/nowhere/kubeconfig", "1.2.3"); err == nil {
		t.Error("a kubeconfig that is not there is no error")
	}
}
