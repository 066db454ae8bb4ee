package kube

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

func TestAnIncidentOpensInTwoWritesAndIsThenSaid(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched-%v", watched), func(t *testing.T) {
			b := onNode(t, shared.Cluster(t))
			b.apply(t, healthy())
			if watched {
				b.watching(t)
			}
			gets, patches := b.requests.count("get "), b.requests.count("patch ")
			got := b.apply(t, quarantined("a"))
			if !got.Exists || !got.Unschedulable || !got.Tainted || got.Note == nil || got.Note.Owner != remediate.OwnerAgent {
				t.Errorf("observed %+v", got)
			}
			if n := b.requests.count("patch ") - patches; n != 2 {
				t.Errorf("%d writes: %v", n, b.requests.seen)
			}
			if n := b.requests.count("get ") - gets; watched && n != 0 {
				t.Errorf("%d reads under a watch", n)
			}
			before := b.object(t)
			if again := b.apply(t, quarantined("a")); cmp.Diff(got, again) != "" {
				t.Error(cmp.Diff(got, again))
			}
			if after := b.object(t); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("applying the same again wrote: %s, then %s", before.ResourceVersion, after.ResourceVersion)
			}
			if n := b.requests.count("patch ") - patches; n != 2 {
				t.Errorf("%d writes after applying the same again", n)
			}
		})
	}
}

func TestAReleaseTakesEverythingBackInOneSpecWrite(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.apply(t, quarantined("a"))
	patches := b.requests.count("patch nodes ")
	got := b.apply(t, healthy())
	if got.Unschedulable || got.Tainted || got.Note != nil {
		t.Errorf("observed %+v", got)
	}
	if n := b.requests.count("patch nodes ") - patches; n != 1 {
		t.Errorf("%d writes of metadata and spec", n)
	}
	node := b.object(t)
	if node.Labels[remediate.LabelState] != "healthy" || node.Labels[remediate.LabelFault] != "" {
		t.Errorf("labels %v", node.Labels)
	}
}

func TestWritesCarryOurFieldManager(t *testing.T) {
	cluster := shared.Cluster(t)
	b := with(t, cluster, nodeName(t), cluster.Admin())
	// The API server keeps managers of a Node only if its creator set something.
	_, err := b.admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: b.options.Name, Labels: map[string]string{"zone": "a"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(t, quarantined("a"))
	managed := map[string]bool{}
	for _, entry := range b.object(t).ManagedFields {
		if entry.Manager == apiserver.Manager {
			managed[entry.Subresource] = true
		}
	}
	if !managed[""] || !managed["status"] {
		t.Errorf("managed by us: %v of %+v", managed, b.object(t).ManagedFields)
	}
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.apply(t, quarantined("a"))
	long := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	node := b.object(t)
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastTransitionTime = long
		node.Status.Conditions[i].LastHeartbeatTime = long
	}
	if _, err := b.admin.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := quarantined("a")
	want.GPU.Reason, want.GPU.Message = "Xid119", "another cause"
	want.NVLink.Status = "False"
	b.apply(t, want)
	for _, c := range b.object(t).Status.Conditions {
		moved := !c.LastTransitionTime.Equal(&long)
		if moved != (c.Type == remediate.ConditionNVLink) {
			t.Errorf("%s: transition at %v", c.Type, c.LastTransitionTime)
		}
	}
}

func TestAConditionWithoutAStatusIsLeftAlone(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	want := healthy()
	want.NVLink = remediate.Condition{}
	b.apply(t, want)
	for _, c := range b.object(t).Status.Conditions {
		if c.Type == remediate.ConditionNVLink {
			t.Errorf("published %+v", c)
		}
	}
}

func TestLabelsOfOthersUnderOurPrefixStay(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.edit(t, `{"metadata":{"labels":{"gpuhealthd.io/group":"rack-7","zone":"a"},"annotations":{"note":"by hand"}}}`)
	b.apply(t, quarantined("a"))
	b.apply(t, healthy())
	node := b.object(t)
	if node.Labels["gpuhealthd.io/group"] != "rack-7" || node.Labels["zone"] != "a" || node.Annotations["note"] != "by hand" {
		t.Errorf("labels %v, annotations %v", node.Labels, node.Annotations)
	}
}

// A kubelet writes status and another controller writes taints, both the
// proper way, while we open and release incidents. Nobody loses anything.
func TestConcurrentWritersKeepWhatIsTheirs(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.watching(t)
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	beats, tainted := 0, 0
	others.Go(func() {
		for ctx.Err() == nil {
			b.change(ctx, t, func(node *corev1.Node) {
				setCondition(node, corev1.NodeReady, fmt.Sprint(beats))
			}, b.admin.CoreV1().Nodes().UpdateStatus)
			beats++
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			b.change(ctx, t, func(node *corev1.Node) {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
					Key: "example.com/t" + fmt.Sprint(tainted), Effect: corev1.TaintEffectPreferNoSchedule,
				})
			}, b.admin.CoreV1().Nodes().Update)
			tainted++
		}
	})
	for i := range 5 {
		b.apply(t, quarantined(fmt.Sprint("incident-", i)))
		b.apply(t, healthy())
	}
	last := b.apply(t, quarantined("last"))
	cancel()
	others.Wait()
	if !last.Unschedulable || !last.Tainted {
		t.Errorf("observed %+v", last)
	}
	node := b.object(t)
	theirs, ours := 0, 0
	for _, taint := range node.Spec.Taints {
		switch {
		case strings.HasPrefix(taint.Key, "example.com/"):
			theirs++
		case taint.Key == remediate.TaintQuarantine:
			ours++
		}
	}
	// The last of each may have been cut off by the end of the test.
	if theirs < tainted-1 || theirs == 0 || ours != 1 {
		t.Errorf("%d of %d foreign taints, %d of ours", theirs, tainted, ours)
	}
	if len(node.Status.Conditions) != 3 || beats == 0 {
		t.Errorf("conditions %+v after %d heartbeats", node.Status.Conditions, beats)
	}
}

// change reads, edits and updates with the resource version, until it is in.
func (b *bench) change(
	ctx context.Context, t *testing.T, edit func(*corev1.Node),
	update func(context.Context, *corev1.Node, metav1.UpdateOptions) (*corev1.Node, error),
) {
	for {
		node, err := b.admin.CoreV1().Nodes().Get(ctx, b.options.Name, metav1.GetOptions{})
		if err == nil {
			edit(node)
			_, err = update(ctx, node, metav1.UpdateOptions{})
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Error(err)
			return
		}
	}
}

func setCondition(node *corev1.Node, kind corev1.NodeConditionType, message string) {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			node.Status.Conditions[i].Message = message
			return
		}
	}
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: kind, Status: corev1.ConditionTrue, Message: message,
	})
}

func TestANodeThatIsNotThereIsNoError(t *testing.T) {
	cluster := shared.Cluster(t)
	b := with(t, cluster, "nobody", cluster.Admin())
	if got := b.apply(t, quarantined("a")); !cmp.Equal(got, remediate.Observed{}) {
		t.Errorf("observed %+v", got)
	}
	if n := b.requests.count("patch"); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestANodeThatIsMadeAnewIsWrittenAnew(t *testing.T) {
	cluster := shared.Cluster(t)
	b := onNode(t, cluster)
	told := b.watching(t)
	first := b.apply(t, quarantined("a"))
	if err := b.admin.CoreV1().Nodes().Delete(t.Context(), b.options.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, told, func(o remediate.Observed) bool { return !o.Exists })
	if got := b.apply(t, quarantined("a")); got.Exists {
		t.Errorf("observed %+v", got)
	}
	second := cluster.CreateNode(t, b.options.Name)
	b.await(t, told, func(o remediate.Observed) bool { return o.UID == string(second.UID) })
	got := b.apply(t, quarantined("a"))
	if got.UID == first.UID || !got.Unschedulable || !got.Tainted || got.Note == nil {
		t.Errorf("observed %+v", got)
	}
}

// What we know of the Node is always a little old. Each of these changes
// happens after we have looked, and every patch must notice.
func TestWritesFailOnANodeThatIsNotTheOneSeen(t *testing.T) {
	cases := map[string]struct {
		first  remediate.Desired
		behind string
		then   remediate.Desired
	}{
		"cordoned":       {healthy(), cordon, quarantined("a")},
		"mark removed":   {quarantined("a"), `{"metadata":{"annotations":{"gpuhealthd.io/incident":null}}}`, healthy()},
		"uncordoned":     {quarantined("a"), uncordon, healthy()},
		"taint moved":    {quarantined("a"), `{"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}}`, healthy()},
		"taints removed": {healthy(), `{"spec":{"taints":null}}`, quarantined("a")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := onNode(t, shared.Cluster(t))
			b.apply(t, c.first)
			old := viewOf(b.object(t))
			b.edit(t, c.behind)
			before := b.object(t).ResourceVersion
			if _, err := b.writeSpec(t.Context(), old, c.then); !raced(err) {
				t.Errorf("got %v", err)
			}
			if after := b.object(t).ResourceVersion; after != before {
				t.Error("part of the patch was written")
			}
		})
	}
	t.Run("another node of that name", func(t *testing.T) {
		cluster := shared.Cluster(t)
		b := onNode(t, cluster)
		old := viewOf(b.object(t))
		if err := b.admin.CoreV1().Nodes().Delete(t.Context(), b.options.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		cluster.CreateNode(t, b.options.Name)
		if _, err := b.writeSpec(t.Context(), old, quarantined("a")); !raced(err) {
			t.Errorf("spec: got %v", err)
		}
		if _, err := b.writeStatus(t.Context(), old, quarantined("a")); !raced(err) {
			t.Errorf("status: got %v", err)
		}
	})
}

// A Node that its kubelet has not labelled yet has no labels and no
// annotations: a patch must not take the place of those that come meanwhile.
func TestANodeWithoutAnyLabel(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	bare := viewOf(b.object(t))
	if !bare.bare || !bare.unnoted {
		t.Skip("this API server gives new Nodes labels or annotations")
	}
	b.edit(t, `{"metadata":{"labels":{"zone":"a"},"annotations":{"note":"by hand"}}}`)
	if _, err := b.writeSpec(t.Context(), bare, quarantined("a")); !raced(err) {
		t.Errorf("got %v", err)
	}
	b.apply(t, quarantined("a"))
	if node := b.object(t); node.Labels["zone"] != "a" || node.Annotations["note"] != "by hand" {
		t.Errorf("labels %v, annotations %v", node.Labels, node.Annotations)
	}
}
