package kube

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/guard"
)

// view is what we know of the Node: our own marks, and what is needed to
// write beside other people's. The zero view is a Node that is not there.
type view struct {
	uid     types.UID
	version string
	// labels are ours only. bare and unnoted say that the Node has no labels
	// or annotations at all: a JSON patch cannot add to a map that is absent.
	labels        map[string]string
	bare, unnoted bool
	// note is the mark's text; noted says that there is one, empty or not.
	note  string
	noted bool
	// plain are our annotations beside the mark.
	plain map[string]string
	// kept are the autoscalers' annotations, whoever set them.
	kept map[string]string
	// asks is the annotation that asks for a diagnosis.
	asks          string
	unschedulable bool
	taints        []taint
	conditions    map[string]condition
	offered       remediate.Offered
	// inHand is who else has the Node in hand.
	inHand guard.InHand
}

// resourceGPU is what NVIDIA's device plugin offers GPUs as.
const resourceGPU = "nvidia.com/gpu"

// taint is a taint's identity and value, in the order of the Node's list.
type taint struct{ key, effect, value string }

type condition struct {
	remediate.Condition
	since metav1.Time
	heard metav1.Time
}

// ourConditions and ourLabels are what we publish. Another key under our
// prefix is a person's or a later version's.
func ourConditions() []string {
	return []string{remediate.ConditionGPU, remediate.ConditionNVLink}
}

func ourLabels() []string {
	return []string{
		remediate.LabelState, remediate.LabelFault, remediate.LabelRadius,
		remediate.LabelGPUs, remediate.LabelDomain, remediate.LabelDiag, remediate.LabelDiagnosing,
	}
}

// ourAnnotations are those beside the mark.
func ourAnnotations() []string {
	return []string{remediate.SinceAnnotation, remediate.SummaryAnnotation, remediate.StrandedAnnotation, remediate.DiagAnnotation}
}

func viewOf(node *corev1.Node) view {
	v := view{
		uid:           node.UID,
		version:       node.ResourceVersion,
		labels:        map[string]string{},
		plain:         map[string]string{},
		bare:          len(node.Labels) == 0,
		unnoted:       len(node.Annotations) == 0,
		unschedulable: node.Spec.Unschedulable,
		conditions:    map[string]condition{},
		inHand:        guard.InHandOf(node.Labels, node.Annotations),
	}
	v.offered.Capacity = count(node.Status.Capacity)
	v.offered.Allocatable = count(node.Status.Allocatable)
	v.note, v.noted = node.Annotations[remediate.NoteAnnotation]
	v.asks = node.Annotations[remediate.AskAnnotation]
	for _, key := range ourAnnotations() {
		if value, ok := node.Annotations[key]; ok {
			v.plain[key] = value
		}
	}
	for _, key := range remediate.KeepAnnotations() {
		if value, ok := node.Annotations[key]; ok {
			if v.kept == nil {
				v.kept = map[string]string{}
			}
			v.kept[key] = value
		}
	}
	for _, key := range ourLabels() {
		if value, ok := node.Labels[key]; ok {
			v.labels[key] = value
		}
	}
	for _, t := range node.Spec.Taints {
		v.taints = append(v.taints, taint{key: t.Key, effect: string(t.Effect), value: t.Value})
	}
	for _, c := range node.Status.Conditions {
		if slices.Contains(ourConditions(), string(c.Type)) {
			v.conditions[string(c.Type)] = condition{
				Condition: remediate.Condition{Status: string(c.Status), Reason: c.Reason, Message: c.Message},
				since:     c.LastTransitionTime,
				heard:     c.LastHeartbeatTime,
			}
		}
	}
	return v
}

func count(of corev1.ResourceList) int64 {
	gpus := of[resourceGPU]
	return gpus.Value()
}

func (v view) exists() bool { return v.uid != "" }

// ourTaint returns where our taint stands in the list, or -1.
func (v view) ourTaint() int {
	return slices.IndexFunc(v.taints, func(t taint) bool {
		return t.key == remediate.TaintQuarantine && t.effect == string(corev1.TaintEffectNoSchedule)
	})
}

// quarantine returns our taint, or the zero taint.
func (v view) quarantine() taint {
	if at := v.ourTaint(); at >= 0 {
		return v.taints[at]
	}
	return taint{}
}

// mark reads the annotation. One that is not ours to read counts as none: a
// cordon under it is then nobody's that we would release.
func (v view) mark() *remediate.Note {
	var note remediate.Note
	if v.note == "" || json.Unmarshal([]byte(v.note), &note) != nil {
		return nil
	}
	return &note
}

func (v view) observed() remediate.Observed {
	return remediate.Observed{
		Exists:        v.exists(),
		UID:           string(v.uid),
		Unschedulable: v.unschedulable,
		Tainted:       v.ourTaint() >= 0,
		Note:          v.mark(),
		Kept:          v.kept,
		Asks:          v.asks,
		DiagAt:        v.plain[remediate.DiagAnnotation],
		Diagnosing:    v.labels[remediate.LabelDiagnosing],
		Offered:       v.offered,
		InHand:        v.inHand,
	}
}

// same says whether two views agree in everything that we write, decide by or
// show.
func (v view) same(other view) bool {
	return v.uid == other.uid &&
		v.note == other.note &&
		maps.Equal(v.plain, other.plain) &&
		maps.Equal(v.kept, other.kept) &&
		v.asks == other.asks &&
		v.unschedulable == other.unschedulable &&
		v.offered == other.offered &&
		v.inHand == other.inHand &&
		v.quarantine() == other.quarantine() &&
		maps.Equal(v.labels, other.labels) &&
		maps.EqualFunc(v.conditions, other.conditions, func(a, b condition) bool { return a.Condition == b.Condition })
}
