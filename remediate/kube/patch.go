package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// operation is one step of a JSON patch (RFC 6902). All of a patch happens or
// nothing of it.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

func test(path string, value any) operation { return operation{"test", path, raw(value)} }
func add(path string, value any) operation  { return operation{"add", path, raw(value)} }
func remove(path string) operation          { return operation{Op: "remove", Path: path} }

// absent is what a test compares with where a field must not be there.
var absent any

// raw encodes the strings, booleans, maps and taints that patches are made of;
// none of them can fail.
func raw(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

const (
	labelsPath      = "/metadata/labels"
	annotationsPath = "/metadata/annotations"
	cordonPath      = "/spec/unschedulable"
	taintsPath      = "/spec/taints"
)

// member is the path of a map's key.
func member(path, key string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// goal is what the Node's metadata and spec shall be, for our part of them.
type goal struct {
	labels        map[string]string
	note          string
	plain         map[string]string
	kept          map[string]string
	unschedulable bool
	tainted       bool
	taint         string
	asks          string
}

// settle turns the wish into a goal for this Node, as it is now.
func settle(have view, want remediate.Desired) (goal, error) {
	next := remediate.Settle(want, have.observed())
	g := goal{labels: want.Labels(), plain: want.Annotations(), kept: next.Kept, unschedulable: next.Unschedulable, tainted: next.Tainted, taint: want.Fault,
		asks: next.Asks}
	if next.Note == nil {
		return g, nil
	}
	note := *next.Note
	if note.GPUs == nil {
		note.GPUs = []string{}
	}
	text, err := json.Marshal(note)
	if err != nil {
		return goal{}, fmt.Errorf("encode the mark of incident %s: %w", note.ID, err)
	}
	g.note = string(text)
	return g, nil
}

// specPatch returns the patch that leads from the view to the goal, or nil.
// Its tests hold it to the Node that was seen: another one of the same name, or
// a cordon or mark that somebody changed meanwhile, makes it fail.
func specPatch(have view, to goal) []operation {
	steps := slices.Concat(
		cordonSteps(have, to),
		plainSteps(have, to),
		taintSteps(have, to),
		labelSteps(have, to.labels),
		askSteps(have, to),
	)
	if len(steps) == 0 {
		return nil
	}
	return append([]operation{test("/metadata/uid", have.uid)}, steps...)
}

// cordonSteps change mark and cordon, which depend on each other: where one
// is written the other is tested.
func cordonSteps(have view, to goal) []operation {
	if have.note == to.note && have.unschedulable == to.unschedulable {
		return nil
	}
	var steps []operation
	if have.unschedulable {
		steps = append(steps, test(cordonPath, true))
	} else {
		steps = append(steps, test(cordonPath, absent))
	}
	mark := member(annotationsPath, remediate.NoteAnnotation)
	switch {
	case have.noted:
		steps = append(steps, test(mark, have.note))
	case have.unnoted:
		steps = append(steps, test(annotationsPath, absent))
	default:
		steps = append(steps, test(mark, absent))
	}
	switch {
	case have.note == to.note:
	case to.note == "":
		steps = append(steps, remove(mark))
	case have.unnoted:
		all := map[string]string{remediate.NoteAnnotation: to.note}
		maps.Copy(all, to.kept)
		maps.Copy(all, to.plain)
		steps = append(steps, add(annotationsPath, all))
	default:
		steps = append(steps, add(mark, to.note))
	}
	steps = append(steps, keepSteps(have, to.kept)...)
	switch {
	case have.unschedulable == to.unschedulable:
	case to.unschedulable:
		steps = append(steps, add(cordonPath, true))
	default:
		steps = append(steps, remove(cordonPath))
	}
	return steps
}

// plainSteps change our annotations beside the mark.
func plainSteps(have view, to goal) (steps []operation) {
	switch {
	case maps.Equal(have.plain, to.plain) || have.unnoted && to.note != "":
		return nil // they come with the mark
	case have.unnoted:
		return []operation{test(annotationsPath, absent), add(annotationsPath, to.plain)}
	}
	for _, key := range ourAnnotations() {
		path := member(annotationsPath, key)
		had, there := have.plain[key]
		value, wanted := to.plain[key]
		switch {
		case wanted && value != had:
			steps = append(steps, add(path, value))
		case there && !wanted:
			steps = append(steps, test(path, had), remove(path))
		}
	}
	return steps
}

// keepSteps change the autoscalers' annotations, which never change without the
// mark, since that names ours.
func keepSteps(have view, want map[string]string) []operation {
	if have.unnoted {
		return nil // they came with the mark
	}
	var steps []operation
	for _, key := range remediate.KeepAnnotations() {
		path := member(annotationsPath, key)
		had, there := have.kept[key]
		value, wanted := want[key]
		switch {
		case wanted && !there:
			steps = append(steps, test(path, absent), add(path, value))
		case there && !wanted:
			steps = append(steps, test(path, had), remove(path))
		}
	}
	return steps
}

// askSteps remove the annotation that asks for a diagnosis, as it was read or not at
// all.
func askSteps(have view, to goal) []operation {
	if have.asks == "" || to.asks != "" {
		return nil
	}
	asks := member(annotationsPath, remediate.AskAnnotation)
	return []operation{test(asks, have.asks), remove(asks)}
}

// taintSteps change our taint alone. The list is atomic for every other kind
// of patch; here an element is added at its end, or changed where the tests
// find it still to be ours, so that a taint which somebody else adds in
// between stays.
func taintSteps(have view, to goal) []operation {
	at := have.ourTaint()
	path := taintsPath + "/" + strconv.Itoa(at)
	ours := corev1.Taint{Key: remediate.TaintQuarantine, Value: to.taint, Effect: corev1.TaintEffectNoSchedule}
	if at < 0 {
		switch {
		case !to.tainted:
			return nil
		case len(have.taints) == 0:
			return []operation{test(taintsPath, absent), add(taintsPath, []corev1.Taint{ours})}
		}
		return []operation{add(taintsPath+"/-", ours)}
	}
	found := []operation{test(path+"/key", ours.Key), test(path+"/effect", ours.Effect)}
	switch {
	case !to.tainted:
		return append(found, remove(path))
	case have.taints[at].value != to.taint:
		return append(found, add(path+"/value", to.taint))
	}
	return nil
}

func labelSteps(have view, want map[string]string) []operation {
	if have.bare {
		if len(want) == 0 {
			return nil
		}
		return []operation{test(labelsPath, absent), add(labelsPath, want)}
	}
	var steps []operation
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if had, ok := have.labels[key]; !ok || had != want[key] {
			steps = append(steps, add(member(labelsPath, key), want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have.labels)) {
		if _, ok := want[key]; !ok {
			steps = append(steps, remove(member(labelsPath, key)))
		}
	}
	return steps
}
