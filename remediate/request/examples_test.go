package request

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

const examples = "../../deploy/examples/"

func load(t *testing.T, path string) *File {
	t.Helper()
	f, err := Load(path)
	must(t, err)
	return f
}

// by makes the bench ask as a file says.
func (b *bench) by(t *testing.T, f *File) {
	t.Helper()
	b.Request = byResource(t, b.name, f, shared.Cluster(t).Admin())
}

// resources are those of an operator, as it sees them.
func (b *bench) resources(group, plural, namespace string) dynamic.ResourceInterface {
	r := b.dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: plural})
	if namespace == "" {
		return r
	}
	return r.Namespace(namespace)
}

// created waits for the deed's resource.
func (b *bench) created(t *testing.T, in dynamic.ResourceInterface, d remediate.Deed) *unstructured.Unstructured {
	t.Helper()
	var object *unstructured.Unstructured
	eventually(t, "the resource", func() (there bool) {
		var err error
		object, err = in.Get(t.Context(), nameOf(b.name, d), metav1.GetOptions{})
		return err == nil
	})
	return object
}

// tell is what the operator makes of the resource's status.
func tell(t *testing.T, in dynamic.ResourceInterface, name, status string) {
	t.Helper()
	_, err := in.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
	must(t, err)
}

// gone fails the test unless the resource is there, or not, as it should.
func gone(t *testing.T, in dynamic.ResourceInterface, name string, want bool) {
	t.Helper()
	_, err := in.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if is := err != nil; is != want {
		t.Errorf("%s is gone: %v, want %v", name, is, want)
	}
}

const (
	janitor   = "janitor.dgxc.nvidia.com"
	workloads = "openshift-workload-availability"
)

// Every example, with the operator's part played by the test.
func TestExamples(t *testing.T) {
	kinds(t)
	tests := []struct {
		file, group, plural, namespace string
		kind                           remediate.StepKind
		spec                           string
		between, done, failed          string // statuses
		text                           string // of the failure
		kept                           bool   // a failed one
	}{
		{
			"reset-nvsentinel.yaml", janitor, "gpuresets", "", remediate.StepReset,
			`{"nodeName":"NODE","selector":{"pciBusIDs":["0000:4b:00.0"],"uuids":["GPU-6513270e-269e-0d37-f2a7-4de452e6b438"]}}`,
			`{"phase":"InProgress","conditions":[{"type":"Ready","status":"True"}]}`,
			`{"phase":"Succeeded"}`,
			`{"phase":"Failed","conditions":[{"type":"Complete","status":"True","message":"job failed"}]}`, "job failed", true,
		},
		{
			"reboot-nvsentinel.yaml", janitor, "rebootnodes", "", remediate.StepReboot,
			`{"force":false,"nodeName":"NODE"}`,
			`{"conditions":[{"type":"SignalSent","status":"True"},{"type":"NodeReady","status":"Unknown"}]}`,
			`{"conditions":[{"type":"NodeReady","status":"True"}]}`,
			`{"conditions":[{"type":"NodeReady","status":"False","message":"timeout"}]}`, "timeout", false,
		},
		{
			"reboot-medik8s.yaml", "self-node-remediation.medik8s.io", "selfnoderemediations", workloads, remediate.StepReboot,
			`{"remediationStrategy":"Automatic"}`,
			`{"conditions":[{"type":"Processing","status":"True"},{"type":"Succeeded","status":"Unknown"}]}`,
			`{"phase":"Fencing-Completed","conditions":[{"type":"Succeeded","status":"True"}]}`,
			`{"lastError":"no watchdog","conditions":[{"type":"Succeeded","status":"False"}]}`, "no watchdog", false,
		},
		{
			"reboot-medik8s-fence-agents.yaml", "fence-agents-remediation.medik8s.io", "fenceagentsremediations", workloads, remediate.StepReboot,
			`{"agent":"fence_redfish","remediationStrategy":"OutOfServiceTaint","sharedSecretName":"fence-agents-credentials-shared",` +
				`"sharedparameters":{"--action":"reboot","--ip":"NODE-bmc.example.com"}}`,
			`{"conditions":[{"type":"FenceAgentActionSucceeded","status":"True"}]}`,
			`{"conditions":[{"type":"Succeeded","status":"True"}]}`,
			`{"conditions":[{"type":"Succeeded","status":"False","message":"no answer"}]}`, "no answer", false,
		},
	}
	files, err := filepath.Glob(examples + "*.yaml")
	must(t, err)
	if len(files) != len(tests) {
		t.Errorf("%d files, %d tests of them", len(files), len(tests))
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			b := newBench(t)
			b.by(t, load(t, examples+test.file))
			in := b.resources(test.group, test.plural, test.namespace)
			b.boot(t, "boot-1")
			d := deed(test.kind)
			ended := b.begin(t, d)
			object := b.created(t, in, d)
			same(t, object.Object["spec"], strings.ReplaceAll(test.spec, "NODE", b.name))
			if note := object.GetAnnotations()["remediation.medik8s.io/node-name"]; test.namespace != "" && note != b.name {
				t.Errorf("for node %q", note)
			}
			tell(t, in, object.GetName(), test.between)
			tell(t, in, object.GetName(), test.done)
			b.boot(t, "boot-2")
			is(t, <-ended, remediate.Succeeded)
			gone(t, in, object.GetName(), true)

			d.ID, d.BootID = "again", "boot-2"
			b.undo = nil
			ended = b.begin(t, d)
			object = b.created(t, in, d)
			tell(t, in, object.GetName(), test.failed)
			is(t, <-ended, remediate.Unsuccessful, object.GetKind()+" "+object.GetName()+": "+test.text)
			gone(t, in, object.GetName(), !test.kept)
		})
	}
}

func same(t *testing.T, got any, want string) {
	t.Helper()
	text, err := json.Marshal(got)
	must(t, err)
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
