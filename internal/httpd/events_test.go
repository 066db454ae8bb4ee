package httpd

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// bundles is a folder with the bundle of incident b-1.
func bundles(t *testing.T) *evidence.Dir {
	d := evidence.NewDir(t.TempDir(), evidence.Limits{Keep: 9, MaxBytes: 1 << 20})
	if err := d.Append("b-1", []evidence.Piece{{Kind: evidence.KindVerdict, At: time.Unix(1, 0), Verdict: &fault.Verdict{ID: "b-1", Class: fault.XID79}}}); err != nil {
		t.Fatal(err)
	}
	return d
}

// A bundle is for this host alone; the list is for whoever may see the status.
func TestEvents(t *testing.T) {
	a := fixed{status: agent.Status{History: []remediate.Incident{{Verdict: fault.Verdict{ID: "b-0", Class: fault.XID95}}}}}
	handler := Handler(a, bundles(t), prometheus.NewRegistry(), "test")
	for name, c := range map[string]struct {
		from, path string
		code       int
		body       []string
	}{
		"all":                 {"192.0.2.1:999", "/api/v1/events", 200, []string{`"id": "b-1"`, `"fault": "xid-79"`, `"id": "b-0"`}},
		"one, on this host":   {"127.0.0.1:999", "/api/v1/events/b-1", 200, []string{`{"kind":"verdict"`}},
		"one, by IPv6":        {"[::1]:999", "/api/v1/events/b-1", 200, []string{`{"kind":"verdict"`}},
		"one, from elsewhere": {"192.0.2.1:999", "/api/v1/events/b-1", 403, []string{"this host alone"}},
		"none":                {"127.0.0.1:999", "/api/v1/events/b-2", 404, []string{"b-2"}},
		"no way out":          {"127.0.0.1:999", "/api/v1/events/..%2f..%2fpasswd", 404, []string{"passwd"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", c.path, nil)
			r.RemoteAddr = c.from
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != c.code {
				t.Errorf("code %d, want %d", w.Code, c.code)
			}
			for _, text := range c.body {
				if !strings.Contains(w.Body.String(), text) {
					t.Errorf("no %q in %q", text, w.Body)
				}
			}
		})
	}
}
