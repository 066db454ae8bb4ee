// Package rack proves what the trays of one NVLink domain find out together, on a
// real API server: each tray that matters is the whole agent on a simulated node,
// and the others are played by what their agents would publish.
package rack

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/kube"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
	"github.com/gpuhealthd/gpuhealthd/test/kubelet"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
)

var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

// trays is how many an NVL72 has.
const trays = 18

// rack is one NVLink domain on the API server.
type rack struct {
	t       testing.TB
	name    string
	cluster *kubetest.Cluster
	admin   kubernetes.Interface
	account *rest.Config
	// clique is its own: all racks are on one API server.
	clique uint32
}

var (
	mu sync.Mutex
	// cliques counts the racks.
	cliques uint32
)

// newRack applies deploy/ as an operator would: the agents have the rights of its
// account and no others.
func newRack(t testing.TB, name string) *rack {
	t.Helper()
	cluster := shared.Cluster(t)
	manifest, err := os.ReadFile(filepath.Join("..", "..", "deploy", "daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"list", "watch", "patch"} {
		cluster.AwaitAllowed(t, daemontest.Account(), authorizationv1.ResourceAttributes{Verb: verb, Resource: "nodes"})
	}
	mu.Lock()
	defer mu.Unlock()
	cliques++
	return &rack{t: t, name: name, cluster: cluster, clique: cliques, admin: kubernetes.NewForConfigOrDie(cluster.Admin()),
		account: cluster.ServiceAccount(t, daemontest.Account(), "")}
}

func (r *rack) fabric() nvlink.Fabric {
	f, _ := nvlink.MakeFabric(3, uint8(nvlink.FabricCompleted), 0, [16]byte{0x7b, 0x1c, 0x0f, 0x2e}, r.clique)
	return f
}

// play makes the Nodes of trays without an agent, which have the domain's label.
func (r *rack) play(count int) (names []string) {
	r.t.Helper()
	for i := range count {
		names = append(names, fmt.Sprintf("%s-played-%02d", r.name, i))
		r.cluster.CreateNode(r.t, names[i])
		r.patch(names[i], fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, remediate.LabelDomain, nvlink.DomainHash(r.fabric().Domain())))
	}
	return names
}

// says publishes what a played tray's agent would.
func (r *rack) says(name string, s nvlink.Summary) {
	r.t.Helper()
	r.patch(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, remediate.SummaryAnnotation, s.Text()))
}

func (r *rack) patch(name, patch string) {
	r.t.Helper()
	if _, err := r.admin.CoreV1().Nodes().Patch(r.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rack) node(name string) *corev1.Node {
	r.t.Helper()
	n, err := r.admin.CoreV1().Nodes().Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// tray is one with a whole agent.
type tray struct {
	*rack
	node     string
	sim      *node.Node
	agent    *agent.Agent
	driver   *driver
	requests *requests
	verdicts *verdictLog
	gpus     []node.GPU
	stop     func()
}

// start begins an agent and returns once its Node says that it is healthy.
func (r *rack) start(number int) *tray {
	r.t.Helper()
	t := &tray{rack: r, node: fmt.Sprintf("%s-tray-%02d", r.name, number), requests: &requests{}, verdicts: &verdictLog{}}
	r.cluster.CreateNode(r.t, t.node)
	dir := r.t.TempDir()
	var err error
	if t.sim, err = node.New(filepath.Join(dir, "node"), "gb200-tray"); err != nil {
		r.t.Fatal(err)
	}
	if t.gpus, err = t.sim.GPUs(); err != nil {
		r.t.Fatal(err)
	}
	t.driver = newDriver(t)
	work, err := pods.New(pods.Options{Node: t.node, Config: r.account, Socket: t.work(number), Resources: pods.DefaultResources()})
	if err != nil {
		r.t.Fatal(err)
	}
	log := slog.New(t.verdicts)
	options := kube.Options{Name: t.node, Config: r.account, Log: log, Observe: t.requests.observe}
	own, err := kube.New(options)
	if err != nil {
		r.t.Fatal(err)
	}
	domain, err := kube.NewDomain(options)
	if err != nil {
		r.t.Fatal(err)
	}
	t.agent, err = agent.New(agent.Options{
		Log: log, Metrics: agent.NewMetrics(prometheus.NewRegistry()), Name: t.node,
		Policy:   remediate.Policy{Mode: remediate.Contain, Probation: time.Minute},
		Judge:    fault.Config{CleanPolls: 3, Fresh: time.Second, Correlate: fault.DefaultCorrelate},
		Kernel:   kernlog.Config{Path: t.sim.KmsgPath(), BootIDPath: t.sim.BootIDPath()},
		Actuator: own, Watcher: own, Neighbours: domain, Driver: t.driver, Workloads: work.Workloads,
		StatePath: filepath.Join(dir, "state.db"), Grace: time.Minute,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- t.agent.Run(ctx) }()
	t.stop = sync.OnceFunc(func() { cancel(); <-done })
	r.t.Cleanup(t.stop)
	return t
}

// work gives the tray's GPUs to pods of two workloads, one of which is all trays', and
// says where its kubelet tells that.
func (t *tray) work(number int) (socket string) {
	k := kubelet.Start(t.t)
	k.Give("team", fmt.Sprintf("train-%d-x7k2p", number), "nvidia.com/gpu", t.gpus[0].UUID, t.gpus[1].UUID)
	k.Give("serve", fmt.Sprintf("llm-%c", 'a'+number), "nvidia.com/gpu", t.gpus[2].UUID)
	return k.Socket
}

// hear writes a line of the driver about one GPU into the tray's kernel log.
func (t *tray) hear(gpu int, text string) {
	t.t.Helper()
	if err := t.sim.Kmsg(daemontest.XID(t.gpus[gpu].PCI, text)); err != nil {
		t.t.Fatal(err)
	}
}

// await returns once the tray's Node fits.
func (t *tray) await(what string, fits func(*corev1.Node) bool) *corev1.Node {
	t.t.Helper()
	var n *corev1.Node
	daemontest.Await(t.t, t.node+": "+what, func() bool { n = t.rack.node(t.node); return fits(n) })
	return n
}

func says(state remediate.NodeState) func(*corev1.Node) bool {
	return func(n *corev1.Node) bool { return n.Labels[remediate.LabelState] == string(state) }
}

// verdict returns once the worst verdict of a class has a text in its reason.
func (t *tray) verdict(c fault.Class, texts ...string) fault.Verdict {
	t.t.Helper()
	var found fault.Verdict
	daemontest.Await(t.t, fmt.Sprintf("%s: %s because %q", t.node, c, texts), func() bool {
		for _, i := range t.agent.Status().Incidents {
			if i.Verdict.Class == c && containsAll(i.Verdict.Reason, texts) {
				found = i.Verdict
				return true
			}
		}
		return false
	})
	return found
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
