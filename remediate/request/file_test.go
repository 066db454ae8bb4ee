package request

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

const (
	manifest = "template: '{apiVersion: example.com/v1, kind: Reset}'\n"
	signs    = "success: {path: '{.status.phase}', values: [Done]}\n"
)

func TestLoadRefuses(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"nothing", "", "the file is empty"},
		{"a field nobody knows", manifest + signs + "delete: never\n", "field delete not found"},
		{"a field below nobody knows", manifest + "success: {jsonPath: x}\n", "field jsonPath not found"},
		{"two documents", manifest + signs + "---\n" + manifest, "more than one YAML document"},
		{"no YAML", "template: [", "yaml:"},
		{"no template", signs, "template: missing"},
		{"no success", manifest, "success: missing"},
		{"success without a path", manifest + "success: {values: [Done]}\n", "success: path: missing"},
		{"success without values", manifest + "success: {path: '{.status.phase}'}\n", "success: values: want at least one"},
		{"success by nothing", manifest + "success: {path: '{.status.phase}', values: ['']}\n", "success: values: want at least one, and none that is empty"},
		{"a path that is none", manifest + "success: {path: .status.phase, values: [Done]}\n", `success: path: ".status.phase" is not a JSONPath such as {.status.phase}`},
		{"a path with a mistake", manifest + signs + "failure: {path: '{.status[}', values: [x]}\n", "failure: path: JSONPath {.status[}"},
		{"a message with a mistake", manifest + signs + "message: '{'\n", "message: JSONPath {"},
		{"another keep", manifest + signs + "keep: some\n", `keep: "some" is not none, failed or all`},
		{"a template with a mistake", "template: '{{.Node'\n" + signs, "template: template:1: unclosed action"},
		{"a field that no deed has", "template: '{{.Nodes}}'\n" + signs, "can't evaluate field Nodes"},
		{"a function nobody knows", "template: '{{yaml .Node}}'\n" + signs, `function "yaml" not defined`},
		{"no kind", "template: 'apiVersion: v1'\n" + signs, "template: kind: missing"},
		{"no apiVersion", "template: 'kind: Reset'\n" + signs, "template: apiVersion: missing"},
		{"a key twice", "template: '{apiVersion: v1, kind: Reset, kind: Reset}'\n" + signs, `key "kind" already set`},
		{"a name of the server's", "template: '{apiVersion: v1, kind: Reset, metadata: {generateName: x}}'\n" + signs, "template: metadata.generateName:"},
		{"metadata of another type", "template: '{apiVersion: v1, kind: Reset, metadata: []}'\n" + signs, "template: metadata: not a map"},
		{"no manifest", "template: 'reset {{.Node}}'\n" + signs, "template: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reset.yaml")
			must(t, os.WriteFile(path, []byte(test.file), 0o600))
			_, err := Load(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s: … %s", err, path, test.want)
			}
		})
	}
	if _, err := Load("/nonexistent.yaml"); err == nil || !strings.Contains(err.Error(), "/nonexistent.yaml") {
		t.Errorf("error %v", err)
	}
}

func TestRender(t *testing.T) {
	f, err := parse("test.yaml", []byte("template: |\n  apiVersion: example.com/v1\n  kind: Reset\n  spec:\n    reason: {{json .Reason}}\n    by: [{{range .GPUs}}{{.BusID}}, {{end}}]\n"+signs))
	must(t, err)
	d := deed(remediate.StepReset)
	d.Reason = "a: \"b\"\n- c"
	object, err := f.render("a-very-long-node-name.us-east-2.compute.internal", d)
	must(t, err)
	spec := object.Object["spec"].(map[string]any)
	if spec["reason"] != d.Reason || len(spec["by"].([]any)) != 2 {
		t.Errorf("spec %v", spec)
	}
	if name := object.GetName(); len(name) > 63 || !strings.HasPrefix(name, "gpuhealthd-reset-") {
		t.Errorf("name %q", name)
	}
	if object.GetAnnotations()[deedAnnotation] != d.ID {
		t.Errorf("annotations %v", object.GetAnnotations())
	}
	other, err := f.render("another-node", d)
	must(t, err)
	if other.GetName() == object.GetName() {
		t.Error("two nodes, one name")
	}
}

// Whatever a file says, it is read or refused; and what is read can be rendered for
// every deed, or says why not.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"reset-nvsentinel.yaml", "reboot-nvsentinel.yaml", "reboot-medik8s.yaml", "reboot-medik8s-fence-agents.yaml"} {
		text, err := os.ReadFile(examples + path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "a reason")
	}
	f.Add([]byte(manifest+signs), "a: \"b\"\n- c")
	f.Fuzz(func(t *testing.T, text []byte, reason string) {
		file, err := parse("fuzz.yaml", text)
		if err != nil {
			return
		}
		object, err := file.render("node", remediate.Deed{ID: "x", Kind: remediate.StepReset, Reason: reason, GPUs: []fault.Device{{}}})
		if err == nil && (object.GetName() == "" || object.GetKind() == "") {
			t.Errorf("rendered %v", object.Object)
		}
	})
}

// Anybody may write the answer: it is taken for what it says to this request, or not
// at all.
func FuzzRead(f *testing.F) {
	f.Add(`{"id":"reset-1","result":"succeeded","text":"x"}`)
	f.Add(`{"id":"reset-2","result":"succeeded"}`)
	f.Add(`{"id":"reset-1"}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		switch result, why := read(text, "reset-1"); result {
		case remediate.Succeeded, remediate.Refused:
			if !strings.Contains(text, "reset-1") && !strings.Contains(text, `\`) {
				t.Errorf("%q is taken for an answer", text)
			}
		case remediate.Unsuccessful:
		case "":
			if why != "" {
				t.Errorf("no answer, and a text: %q", why)
			}
		default:
			t.Errorf("result %q", result)
		}
	})
}
