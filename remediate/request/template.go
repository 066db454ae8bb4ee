package request

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// deedAnnotation is on what we create: which deed it is for.
const deedAnnotation = remediate.Prefix + "deed"

// Data is what a template can name. The function json writes a value so that YAML
// takes it as it is, whatever is in it.
type Data struct {
	// Name is made of Node and ID, is the same for the same deed, and fits a label.
	Name string
	Node string
	// ID is the deed's, Kind reset or reboot.
	ID, Kind string
	// GPUs are all that have to be reset.
	GPUs []GPU
	// Fault is the worst class, Reason a sentence.
	Fault, Reason string
	Incidents     []string
	// Deadline is when we no longer wait, as in RFC 3339.
	Deadline string
}

// GPU is one GPU in Data.
type GPU struct {
	// UUID is empty where it was never told.
	UUID string
	// PCI is domain:bus:device, BusID the same with the function.
	PCI, BusID string
}

func dataOf(node string, deed remediate.Deed) Data {
	d := Data{
		Name: nameOf(node, deed), Node: node, ID: deed.ID, Kind: string(deed.Kind), Fault: string(deed.Fault),
		Reason: deed.Reason, Incidents: deed.Incidents, Deadline: deed.Deadline.UTC().Format(time.RFC3339),
	}
	for _, gpu := range deed.GPUs {
		d.GPUs = append(d.GPUs, GPU{UUID: gpu.UUID, PCI: gpu.PCI.String(), BusID: gpu.PCI.String() + ".0"})
	}
	return d
}

// nameOf is short and of the right characters, however long the Node's name is.
func nameOf(node string, deed remediate.Deed) string {
	sum := sha256.Sum256([]byte(node + "/" + deed.ID))
	return fmt.Sprintf("gpuhealthd-%s-%x", deed.Kind, sum[:8])
}

// example is the deed by which a template is tried when it is read.
var example = remediate.Deed{
	ID: "example", Kind: remediate.StepReset, Fault: "xid-95", Reason: "an example: \"quoted\"",
	GPUs: []fault.Device{{UUID: "GPU-6513270e-269e-0d37-f2a7-4de452e6b438"}},
}

// prepare reads the template and tries it.
func (f *File) prepare() error {
	if strings.TrimSpace(f.Template) == "" {
		return errors.New("template: missing")
	}
	t, err := template.New("template").Option("missingkey=error").Funcs(template.FuncMap{"json": asJSON}).Parse(f.Template)
	if err != nil {
		return err // begins with "template: template:LINE"
	}
	f.template = t
	_, err = f.render("node-1", example)
	return err
}

// asJSON is a value as JSON, which YAML reads as it is.
func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// render makes the resource of a deed. Errors name the template's field.
func (f *File) render(node string, deed remediate.Deed) (*unstructured.Unstructured, error) {
	var text strings.Builder
	data := dataOf(node, deed)
	if err := f.template.Execute(&text, data); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text.String()), &object.Object); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	metadata, isMap := object.Object["metadata"].(map[string]any)
	switch {
	case object.GetAPIVersion() == "":
		return nil, errors.New("template: apiVersion: missing")
	case object.GetKind() == "":
		return nil, errors.New("template: kind: missing")
	case object.Object["metadata"] != nil && !isMap:
		return nil, errors.New("template: metadata: not a map")
	case metadata["generateName"] != nil:
		return nil, errors.New("template: metadata.generateName: every trial would make another one; use name, or neither")
	}
	if object.GetName() == "" {
		object.SetName(data.Name)
	}
	notes := object.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[deedAnnotation] = deed.ID
	object.SetAnnotations(notes)
	return object, nil
}
