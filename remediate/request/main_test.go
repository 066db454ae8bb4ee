package request

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/test/kubetest"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

var shared kubetest.Shared

func TestMain(m *testing.M) {
	defer shared.Stop()
	m.Run()
}

// bench is a Node, an administrator beside it, and what the agent has on disk.
type bench struct {
	*Request
	name    string
	admin   kubernetes.Interface
	dynamic dynamic.Interface

	mu   sync.Mutex
	undo []string
	// full lets the disk be full.
	full bool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	cluster := shared.Cluster(t)
	b := &bench{
		name:    strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ",", "").Replace(t.Name())),
		admin:   kubernetes.NewForConfigOrDie(cluster.Admin()),
		dynamic: dynamic.NewForConfigOrDie(cluster.Admin()),
	}
	cluster.CreateNode(t, b.name)
	return b
}

// quick is a request that looks for an answer as often as the client may ask.
func quick(r *Request) *Request {
	r.every = 100 * time.Millisecond
	return r
}

// byAnnotation asks by the annotation on a Node, as somebody.
func byAnnotation(t *testing.T, name string, config *rest.Config) *Request {
	t.Helper()
	client, err := apiserver.New(config, nil)
	must(t, err)
	return quick(Annotation(name, client))
}

// byResource asks by a file's resource, as somebody.
func byResource(t *testing.T, name string, f *File, config *rest.Config) *Request {
	t.Helper()
	client, err := apiserver.New(config, nil)
	must(t, err)
	custom, err := apiserver.NewCustom(config, nil)
	must(t, err)
	return quick(Resource(name, f, client, custom))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nobody(t *testing.T) *rest.Config {
	config := shared.Cluster(t).Admin()
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	return config
}

func (b *bench) record(_ context.Context, undo string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full {
		return errors.New("no space left")
	}
	b.undo = append(b.undo, undo)
	return nil
}

func deed(kind remediate.StepKind) remediate.Deed {
	return remediate.Deed{
		ID: string(kind) + "-1", Kind: kind, Fault: "xid-95", Reason: `uncontained "memory" error`, BootID: "boot-1",
		GPUs: []fault.Device{
			{PCI: xidparse.PCI{Bus: 0x3b}, UUID: "GPU-6513270e-269e-0d37-f2a7-4de452e6b438"},
			{PCI: xidparse.PCI{Bus: 0x4b}},
		},
		Deadline: time.Now().Add(time.Minute),
	}
}

// Do is what an agent makes of a deed: what it owes in the end is put back once its
// outcome is known. A deed that was stopped is left as it is.
func (b *bench) Do(ctx context.Context, d remediate.Deed, owe remediate.Owe) remediate.Outcome {
	o := b.Request.Do(ctx, d, owe)
	if d.Undo = o.Owed; o.Result != remediate.Aborted {
		if err := b.Undo(context.WithoutCancel(ctx), d); err != nil {
			o.Text += "; " + err.Error()
		}
	}
	return o
}

// begin has the agent do the deed; the outcome comes by the channel.
func (b *bench) begin(t *testing.T, d remediate.Deed) <-chan remediate.Outcome {
	t.Helper()
	ended := make(chan remediate.Outcome, 1)
	go func() { ended <- b.Do(t.Context(), d, b.record) }()
	return ended
}

// is fails the test unless the outcome has this result and all the words.
func is(t *testing.T, o remediate.Outcome, result remediate.Result, words ...string) {
	t.Helper()
	if o.Deed == "" || o.Result != result {
		t.Errorf("got %+v, want %s", o, result)
	}
	if i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(o.Text, w) }); i >= 0 {
		t.Errorf("the outcome says %q, and not %q", o.Text, words[i])
	}
}

// eventually waits for something that others bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 2000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never came: %s", what)
}

func (b *bench) notes(t *testing.T) map[string]string {
	t.Helper()
	node, err := b.admin.CoreV1().Nodes().Get(t.Context(), b.name, metav1.GetOptions{})
	must(t, err)
	return node.Annotations
}

// annotate is what somebody else writes; nil takes it away.
func (b *bench) annotate(t *testing.T, key string, value any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	must(t, err)
	_, err = b.admin.CoreV1().Nodes().Patch(t.Context(), b.name, types.MergePatchType, body, metav1.PatchOptions{})
	must(t, err)
}

// boot is what the kubelet says of the present boot.
func (b *bench) boot(t *testing.T, id string) {
	t.Helper()
	_, err := b.admin.CoreV1().Nodes().Patch(t.Context(), b.name, types.StrategicMergePatchType,
		[]byte(`{"status":{"nodeInfo":{"bootID":"`+id+`"}}}`), metav1.PatchOptions{}, "status")
	must(t, err)
}

// kinds gives the cluster the kinds of the examples.
func kinds(t *testing.T) {
	t.Helper()
	cluster := shared.Cluster(t)
	crds, err := os.ReadFile("testdata/crds.yaml")
	must(t, err)
	must(t, cluster.Apply(t.Context(), crds))
	client := kubernetes.NewForConfigOrDie(cluster.Admin())
	for _, group := range []string{"janitor.dgxc.nvidia.com/v1alpha1", "self-node-remediation.medik8s.io/v1alpha1", "fence-agents-remediation.medik8s.io/v1alpha1"} {
		eventually(t, group, func() bool {
			list, err := client.Discovery().ServerResourcesForGroupVersion(group)
			return err == nil && len(list.APIResources) > 0
		})
	}
}
