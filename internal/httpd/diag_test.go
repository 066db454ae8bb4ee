package httpd

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestDiagnosisIsAskedForHere(t *testing.T) {
	const json, here = "application/json", "127.0.0.1:4711"
	for name, c := range map[string]struct {
		from, kind, body string
		code             int
		want             string
	}{
		"two GPUs":      {here, json, `{"level":2,"gpus":["GPU-1","GPU-2"]}`, 202, `"hand-2-2"`},
		"all":           {"[::1]:4711", json + "; charset=utf-8", `{"level":3}`, 202, `"hand-3-0"`},
		"wrong":         {here, json, `{"level":4}`, 400, "level 4 is not"},
		"refused":       {here, json, `{"level":1}`, 409, "already"},
		"from afar":     {"10.0.0.7:4711", json, `{"level":2}`, 403, "this host alone"},
		"from a page":   {here, "text/plain", `{"level":2}`, 415, "application/json"},
		"no JSON":       {here, json, `level 2`, 400, "read the request"},
		"unknown field": {here, json, `{"level":2,"gpu":"GPU-1"}`, 400, "gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			handler := Handler(fixed{}, bundles(t), prometheus.NewRegistry(), "test")
			r := httptest.NewRequest("POST", "/api/v1/diag", strings.NewReader(c.body))
			r.RemoteAddr = c.from
			r.Header.Set("Content-Type", c.kind)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s, want %d with %s", w.Code, w.Body, c.code, c.want)
			}
		})
	}
}

func TestADiagnosisIsCancelledHere(t *testing.T) {
	handler := Handler(fixed{}, bundles(t), prometheus.NewRegistry(), "test")
	for from, want := range map[string]int{"127.0.0.1:4711": 202, "10.0.0.7:4711": 403} {
		r := httptest.NewRequest("DELETE", "/api/v1/diag", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("from %s: %d %s, want %d", from, w.Code, w.Body, want)
		}
	}
}
