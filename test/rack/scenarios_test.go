package rack

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// The lines of a rack's incidents: a link that went down, the echo of one, and what
// the driver asks for then.
const (
	linkDown = "149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
	allDown  = "149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
	echo     = "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)"
	drain    = "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"
)

const xid149, xid145 = fault.Class("xid-149"), fault.Class("xid-145")

// TestOneGPUAnd71Victims: two whole agents, the guilty tray and a victim, among 16
// that only say that they are victims too.
func TestOneGPUAnd71Victims(t *testing.T) {
	r := newRack(t, "one-gpu")
	guilty, victim := r.start(1), r.start(2)
	healthy(guilty, victim)
	for _, name := range r.play(trays - 2) {
		r.says(name, nvlink.Summary{Echoes: 4})
	}
	guilty.hear(2, linkDown)
	for gpu := range 4 {
		victim.hear(gpu, echo)
		if gpu != 2 {
			guilty.hear(gpu, echo)
		}
	}
	victim.hear(1, drain)
	guilty.await("cordoned", cordoned)
	v := guilty.verdict(xid149, "the GPU's own link failed")
	if v.Radius != fault.GPU || v.Action != fault.Reset || len(v.GPUs) != 1 || v.GPUs[0].UUID != guilty.gpus[2].UUID {
		t.Errorf("the guilty tray: %+v", v)
	}
	if v := victim.verdict(xid145, "the root is on "+guilty.node, "waits"); v.Action != fault.Hold {
		t.Errorf("the victim: %+v", v)
	}
	n := victim.await("suspect", says(remediate.Suspect))
	if cordoned(n) || condition(n) != corev1.ConditionFalse {
		t.Errorf("the victim: cordoned %v, %+v", cordoned(n), n.Status.Conditions)
	}
	// Its own 154 is dropped with the root's repair, and then it falls silent.
	victim.hear(1, strings.NewReplacer("0x0 (None)", "0x4 (Drain and Reset)", "0x4 (Drain and Reset)", "0x0 (None)").Replace(drain))
	victim.await("its summary of the others stays", func(n *corev1.Node) bool { return n.Annotations[remediate.SummaryAnnotation] != "" })
	if n := r.node(victim.node); cordoned(n) {
		t.Errorf("the victim is cordoned: %v", n.Annotations)
	}
}

// TestOneSwitchTray: the same link on all GPUs of all trays. Nobody is cordoned, all
// say so, and one event tells it of the domain.
func TestOneSwitchTray(t *testing.T) {
	r := newRack(t, "switch")
	all := []*tray{r.start(1), r.start(2), r.start(3)}
	healthy(all...)
	for _, name := range r.play(trays - len(all)) {
		r.says(name, nvlink.Summary{Down: []int{9}, Roots: []string{"GPU-1", "GPU-2", "GPU-3", "GPU-4"}, Work: []string{"team/train"}})
	}
	for _, t := range all {
		for gpu := range 4 {
			t.hear(gpu, linkDown)
			t.hear(gpu, drain)
		}
	}
	for _, tray := range all {
		n := tray.await("the domain's", func(n *corev1.Node) bool { return n.Labels[remediate.LabelRadius] == "domain" })
		if cordoned(n) || !says(remediate.Suspect)(n) || condition(n) != corev1.ConditionFalse {
			t.Errorf("%s: cordoned %v, labels %v, %+v", n.Name, cordoned(n), n.Labels, n.Status.Conditions)
		}
		tray.verdict(xid149, "so it is on most neighbours")
	}
	about := func() (events []eventsv1.Event) {
		list, err := r.admin.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Reason == "NVLinkDomainFault" && strings.HasPrefix(e.Regarding.Name, r.name) {
				events = append(events, e)
			}
		}
		return events
	}
	daemontest.Await(t, "the domain's event", func() bool { return len(about()) > 0 })
	for _, tray := range all {
		daemontest.Await(t, "every agent has told", func() bool { return tray.agent.Status().Waiting == 0 })
	}
	events := about()
	if len(events) != 1 {
		t.Fatalf("%d events of the domain: %+v", len(events), events)
	}
	for i := range trays - len(all) {
		if name := fmt.Sprintf("switch-played-%02d", i); !strings.Contains(events[0].Note, name) {
			t.Errorf("it does not name %s: %s", name, events[0].Note)
		}
	}
	for _, tray := range all {
		if !strings.Contains(events[0].Note, tray.node) {
			t.Errorf("it does not name %s: %s", tray.node, events[0].Note)
		}
	}
	if want := "Workloads on them: serve/llm-b, serve/llm-c, serve/llm-d, team/train."; !strings.HasSuffix(events[0].Note, want) {
		t.Errorf("it does not end with %q: %s", want, events[0].Note)
	}
	for _, tray := range all {
		if cordoned(r.node(tray.node)) {
			t.Errorf("%s is cordoned after all", tray.node)
		}
	}
}

// TestOneTray: a tray has lost every link, the others only see it gone.
func TestOneTray(t *testing.T) {
	r := newRack(t, "tray")
	lost := r.start(1)
	healthy(lost)
	for _, name := range r.play(trays - 1) {
		r.says(name, nvlink.Summary{Echoes: 4})
	}
	for gpu := range 4 {
		lost.hear(gpu, allDown)
	}
	n := lost.await("cordoned", cordoned)
	if n.Labels[remediate.LabelRadius] != "node" {
		t.Errorf("labels %v", n.Labels)
	}
	if text := n.Annotations[remediate.SummaryAnnotation]; !strings.Contains(text, `"allDown":true`) {
		t.Errorf("it says %s", text)
	}
}

// TestATrayThatDied: nobody claims the root, and one tray alone says nothing.
func TestATrayThatDied(t *testing.T) {
	r := newRack(t, "died")
	victim := r.start(1)
	healthy(victim)
	names := r.play(trays - 1)
	for _, name := range names[1:] {
		r.says(name, nvlink.Summary{Echoes: 4})
	}
	victim.hear(0, echo)
	victim.hear(0, drain)
	victim.verdict(xid145, names[0]+" alone says nothing: it is suspected")
	if cordoned(r.node(victim.node)) {
		t.Error("the victim is cordoned")
	}
}

// TestARackTrainsAtBoot: links are down and the fabric is on its way on all trays.
// Each says so; nobody is cordoned, and nobody listens.
func TestARackTrainsAtBoot(t *testing.T) {
	r := newRack(t, "boot")
	all := []*tray{r.start(1), r.start(2)}
	healthy(all...)
	for _, tray := range all {
		tray.requests.take()
		tray.driver.set(func(reading *nvlink.Reading) {
			for l := range reading.Links {
				reading.Links[l].State = nvlink.Inactive
			}
			reading.Fabric = &nvlink.Fabric{Version: 3, State: nvlink.FabricInProgress}
		})
	}
	for _, tray := range all {
		n := tray.await("training", func(n *corev1.Node) bool {
			return strings.Contains(n.Annotations[remediate.SummaryAnnotation], `"training":true`)
		})
		if cordoned(n) || !says(remediate.Healthy)(n) || n.Labels[remediate.LabelDomain] == "" {
			t.Errorf("%s: cordoned %v, labels %v", n.Name, cordoned(n), n.Labels)
		}
		tray.driver.set(func(*nvlink.Reading) {})
	}
	for _, tray := range all {
		tray.await("up again", func(n *corev1.Node) bool { return n.Annotations[remediate.SummaryAnnotation] == "" })
		if seen := tray.requests.take(); seen["list nodes"]+seen["watch nodes"] > 0 {
			t.Errorf("%s asked for its neighbours: %v", tray.node, seen)
		}
	}
}

// TestALiarIsNotBelieved: what no agent would publish is not heard, and one
// neighbour that claims the same makes no switch of a tray's fault.
func TestALiarIsNotBelieved(t *testing.T) {
	r := newRack(t, "liar")
	lost := r.start(1)
	healthy(lost)
	names := r.play(trays - 1)
	r.patch(names[0], `{"metadata":{"annotations":{"gpuhealthd.io/nvlink":"{\"allDown\":true,\"echoes\":-7}"}}}`)
	r.patch(names[1], `{"metadata":{"annotations":{"gpuhealthd.io/nvlink":"`+strings.Repeat("x", 100_000)+`"}}}`)
	r.says(names[2], nvlink.Summary{AllDown: true})
	for gpu := range 4 {
		lost.hear(gpu, linkDown)
	}
	lost.await("cordoned", cordoned)
	lost.verdict(xid149, "not on most neighbours")
}

// healthy returns once the trays say that they are.
func healthy(trays ...*tray) {
	for _, t := range trays {
		t.await("healthy", func(n *corev1.Node) bool { return says(remediate.Healthy)(n) && n.Labels[remediate.LabelDomain] != "" })
	}
}

func cordoned(n *corev1.Node) bool { return n.Spec.Unschedulable }

// condition is the status of NVLinkHealthy.
func condition(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == remediate.ConditionNVLink {
			return c.Status
		}
	}
	return ""
}
