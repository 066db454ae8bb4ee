package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

// The annotations on our Node: what we ask for, and what somebody answers.
const (
	RequestAnnotation  = remediate.Prefix + "request"
	ResponseAnnotation = remediate.Prefix + "response"
)

// Asked is the request annotation, as JSON.
type Asked struct {
	// ID names the request; the answer has the same.
	ID string `json:"id"`
	// Kind is reset or reboot.
	Kind remediate.StepKind `json:"kind"`
	// GPUs are all that have to be reset, in one go.
	GPUs   []fault.Device `json:"gpus"`
	Reason string         `json:"reason"`
	// Deadline is when we no longer wait. What is not begun by then must not be.
	Deadline time.Time `json:"deadline"`
}

// Answer is the response annotation, as JSON.
type Answer struct {
	ID string `json:"id"`
	// Result is succeeded, failed, or refused: nothing was done, for the GPU is held.
	Result remediate.Result `json:"result"`
	// Text is for a person.
	Text string `json:"text"`
}

// Annotation asks by an annotation on our Node, whose name it is given.
func Annotation(name string, client *apiserver.Client) *Request {
	n := node{name, client}
	return &Request{way: annotation{n}, node: n, every: every}
}

type annotation struct{ node }

var errNoNode = errors.New("there is no such Node")

func (a annotation) look(ctx context.Context, deed remediate.Deed) (standing, error) {
	notes, err := a.notes(ctx)
	if err != nil {
		return standing{}, err
	}
	if idOf(notes[RequestAnnotation]) != deed.ID {
		return standing{}, nil
	}
	s := standing{made: true}
	if text, answered := notes[ResponseAnnotation]; answered {
		s.result, s.text = read(text, deed.ID)
	}
	return s, nil
}

func (a annotation) notes(ctx context.Context) (map[string]string, error) {
	object, err := a.get(ctx)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return nil, fmt.Errorf("node %s: %w", a.name, errNoNode)
	}
	return object.Annotations, nil
}

// idOf gives the id of a request or an answer; one that cannot be read has none.
func idOf(text string) string {
	var note struct {
		ID string `json:"id"`
	}
	if json.Unmarshal([]byte(text), &note) != nil {
		return ""
	}
	return note.ID
}

// read reads an answer to a request. One to another request is none; one that is
// not understood is a failure that says so.
func read(text, id string) (remediate.Result, string) {
	var a Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return remediate.Unsuccessful, fmt.Sprintf("annotation %s: %v", ResponseAnnotation, err)
	}
	if a.ID != id {
		return "", ""
	}
	switch a.Result {
	case remediate.Succeeded, remediate.Unsuccessful, remediate.Refused:
		return a.Result, a.Text
	}
	return remediate.Unsuccessful, fmt.Sprintf("annotation %s: result %q is not succeeded, failed or refused", ResponseAnnotation, a.Result)
}

// ask writes the request, and takes away what was answered to an earlier one.
func (a annotation) ask(ctx context.Context, deed remediate.Deed) error {
	text, err := json.Marshal(Asked{ID: deed.ID, Kind: deed.Kind, GPUs: deed.GPUs, Reason: deed.Reason, Deadline: deed.Deadline})
	if err != nil {
		return fmt.Errorf("request %s: %w: %w", deed.ID, errNobody, err)
	}
	return a.set(ctx, map[string]any{RequestAnnotation: string(text), ResponseAnnotation: nil})
}

// set writes annotations; nil takes one away.
func (a annotation) set(ctx context.Context, notes map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": notes}})
	if err != nil {
		return err
	}
	return a.patch(ctx, types.MergePatchType, body)
}

// withdraw takes our request away, and the answer with it. The patch tests that it
// is still ours.
func (a annotation) withdraw(ctx context.Context, deed remediate.Deed) error {
	notes, err := a.notes(ctx)
	if errors.Is(err, errNoNode) {
		return nil
	}
	if err != nil || idOf(notes[RequestAnnotation]) != deed.ID {
		return err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value,omitempty"`
	}
	path := annotationPath(RequestAnnotation)
	steps := []operation{{"test", path, notes[RequestAnnotation]}, {Op: "remove", Path: path}}
	if _, answered := notes[ResponseAnnotation]; answered {
		steps = append(steps, operation{Op: "remove", Path: annotationPath(ResponseAnnotation)})
	}
	body, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	return a.patch(ctx, types.JSONPatchType, body)
}

// annotationPath is an annotation's place in a JSON patch.
func annotationPath(key string) string {
	return "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
