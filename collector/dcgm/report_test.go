package dcgm

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

var gpu0 = Entity{Group: "gpu", ID: 0, UUID: "GPU-1"}

// wire are reports with every field set at least once, and unknown ones unset.
var wire = []Report{
	UpReport(Up{Engine: "4.6.0", GPUs: []Entity{gpu0, {Group: "gpu", ID: 1}}, Switches: 4}),
	AbsentReport(Absent{Reason: EngineLost, Error: Error{Op: "dcgmHealthCheck", Code: -21, Text: "disconnected"}}),
	HealthReport(Health{Overall: Fail, First: true, More: 2, Incidents: []Incident{
		{Entity: gpu0, System: "any", Code: 120, Result: Fail, Severity: "isolate", Sticky: true, Text: "fallen <<<NULL>>>"},
	}}),
	HealthReport(Health{Overall: Unknown, Incidents: []Incident{}}),
	ValuesReport(Values{Dropped: 3, GPUs: []GPU{
		{Entity: gpu0, Status: 1, Fields: map[int]float64{FieldPower: 112.5}, XID: &XID{Code: 79, At: time.UnixMicro(1796032800123456).UTC()}},
		{Entity: Entity{Group: "gpu", ID: 1}, Status: 4, Lost: true, Blank: true},
		{Entity: Entity{Group: "gpu", ID: 2}, Error: &Error{Op: "dcgmEntityGetLatestValues", Code: -3, Text: "generic"}},
	}}),
	ViolationReport(Violation{Entity: gpu0, Condition: NVLink, At: time.Unix(1796032800, 0).UTC(), Value: 7, Field: 409}),
	HungReport(Hung{Call: "dcgmConnect", Seconds: 5.5}),
	FailedReport(Error{Op: "dcgmHealthCheck", Code: -34, Text: "in use"}),
}

func line(t testing.TB, r Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReportWire(t *testing.T) {
	for _, want := range wire {
		text := line(t, want)
		if got, err := parseReport(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s came back as %+v, %v", text, got, err)
		}
	}
}

func TestParseReportRefuses(t *testing.T) {
	tests := []struct{ line, want string }{
		{"not json", "not json"},
		{`{"v":2,"kind":"hung","hung":{"call":"x"}}`, "field v: 2"},
		{`{"v":1,"kind":"health"}`, `field kind: `},
		{`{"v":1,"kind":"weather"}`, `field kind: `},
		{string(line(t, diedReport(child.Died{Exit: 1}))), `field kind: `},
	}
	for _, tt := range tests {
		if _, err := parseReport([]byte(tt.line)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.line, err, tt.want)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	for _, r := range wire {
		f.Add(line(f, r))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseReport(text)
		if err != nil {
			return
		}
		if _, err := parseReport(line(t, r)); err != nil {
			t.Fatalf("%q was read, written and refused: %v", text, err)
		}
		var n news
		n.of(r)
		if again, ok := n.of(r); ok && (again.Kind == KindHealth || again.Kind == KindAbsent) {
			t.Fatalf("%q is news twice", text)
		}
	})
}
