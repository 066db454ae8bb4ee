package diag

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// What is kept of a diagnosis is read again by the daemon's clients, whatever the
// severity of its errors.
func TestOutcomeIsReadAsItWasWritten(t *testing.T) {
	for severity := SeverityNone; severity <= SeverityReset; severity++ {
		bad := Error{Code: 52, Severity: severity, Text: "a bad cell"}
		report := Report{Version: "4.6.0", Runs: []Run{{Tests: []Test{{Name: "memory", Status: StatusFail,
			Results: []Result{{Group: "GPU", ID: 0, Status: StatusFail, Errors: []Error{bad}}}}}}}}
		gpus := []GPU{{ID: 0, UUID: "GPU-1"}}
		o := Outcome{Level: 2, Began: time.Unix(1_800_000_000, 0).UTC(), Took: time.Minute, GPUs: gpus, Report: report, Findings: Judge(report, 2, gpus)}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var got Outcome
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(o, got) {
			t.Errorf("severity %s: %v\n%+v\n%+v", severity, err, o, got)
		}
	}
	if err := new(Severity).UnmarshalText([]byte("loud")); err == nil {
		t.Error("loud is taken for a severity")
	}
}
