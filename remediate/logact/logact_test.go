package logact

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// newActuator returns an actuator and a function that takes the lines logged
// since its last call.
func newActuator() (*Actuator, func() []string) {
	var out bytes.Buffer
	bare := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.MessageKey {
			return a
		}
		return slog.Attr{}
	}}
	return New(slog.New(slog.NewTextHandler(&out, bare))), func() []string {
		defer out.Reset()
		var lines []string
		for line := range strings.Lines(out.String()) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "msg=")
			lines = append(lines, strings.Trim(line, `"`))
		}
		return lines
	}
}

func TestAnIncidentFromEndToEnd(t *testing.T) {
	eight, seven := 8, 7
	healthy := remediate.Desired{
		State: remediate.Healthy, GPUsHealthy: &eight,
		GPU: remediate.Condition{Status: "True", Reason: "AllGPUsHealthy", Message: "8 of 8"},
	}
	contained := remediate.Desired{
		State: remediate.Quarantined, Fault: "xid-79", Radius: "node", GPUsHealthy: &seven, Quarantine: true,
		Note: &remediate.Note{ID: "b-12", Fault: "xid-79", GPUs: []string{"GPU-3"}, Step: "cordon"},
		GPU:  remediate.Condition{Status: "False", Reason: "Xid79", Message: "off the bus"},
	}
	rebooting := contained
	note := *contained.Note
	note.Step = "reboot"
	rebooting.State, rebooting.Note = remediate.Repairing, &note
	steps := []struct {
		want  remediate.Desired
		then  remediate.Observed
		lines []string
	}{
		{healthy, remediate.Observed{Exists: true}, []string{
			"would label gpuhealthd.io/gpus-healthy=8",
			"would label gpuhealthd.io/state=healthy",
			"would set the condition GPUHealthy=True (AllGPUsHealthy): 8 of 8",
		}},
		{healthy, remediate.Observed{Exists: true}, nil},
		{contained, remediate.Observed{Exists: true, Unschedulable: true, Tainted: true, Note: owned(contained.Note)}, []string{
			"would cordon the node",
			"would taint gpuhealthd.io/quarantine=xid-79:NoSchedule",
			"would label gpuhealthd.io/fault=xid-79",
			"would label gpuhealthd.io/gpus-healthy=7",
			"would label gpuhealthd.io/radius=node",
			"would label gpuhealthd.io/state=quarantined",
			"would mark incident b-12: xid-79, step cordon, GPUs [GPU-3]",
			"would set the condition GPUHealthy=False (Xid79): off the bus",
		}},
		{rebooting, remediate.Observed{Exists: true, Unschedulable: true, Tainted: true, Note: owned(rebooting.Note)}, []string{
			"would label gpuhealthd.io/state=repairing",
			"would mark incident b-12: xid-79, step reboot, GPUs [GPU-3]",
		}},
		{healthy, remediate.Observed{Exists: true}, []string{
			"would uncordon the node",
			"would remove the taint gpuhealthd.io/quarantine",
			"would label gpuhealthd.io/gpus-healthy=8",
			"would label gpuhealthd.io/state=healthy",
			"would remove the label gpuhealthd.io/fault",
			"would remove the label gpuhealthd.io/radius",
			"would remove the mark of incident b-12",
			"would set the condition GPUHealthy=True (AllGPUsHealthy): 8 of 8",
		}},
	}
	actuator, logged := newActuator()
	for i, step := range steps {
		then, err := actuator.Apply(context.Background(), step.want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.then, then); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		if diff := cmp.Diff(step.lines, logged()); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}

func owned(note *remediate.Note) *remediate.Note {
	ours := *note
	ours.Owner = remediate.OwnerAgent
	return &ours
}

func TestAnEventIsLogged(t *testing.T) {
	actuator, logged := newActuator()
	event := remediate.Event{Key: "b-12/1", Type: "Warning", Reason: "Cordoned", Message: "xid-79", At: time.Unix(0, 0)}
	if err := actuator.Emit(context.Background(), event); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"would tell Warning event Cordoned: xid-79"}, logged()); diff != "" {
		t.Error(diff)
	}
}
