package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

type fixed struct {
	status agent.Status
	alive  error
}

func (f fixed) Status() agent.Status                            { return f.status }
func (f fixed) Alive() error                                    { return f.alive }
func (f fixed) CancelDiagnosis(context.Context) (string, error) { return "hand-2-2", nil }

func (f fixed) Diagnose(_ context.Context, level int, gpus []string) (string, error) {
	switch level {
	case 4:
		return "", remediate.RequestError("level 4 is not 1, 2 or 3")
	case 1:
		return "", errors.New("another is asked for already")
	}
	return fmt.Sprintf("hand-%d-%d", level, len(gpus)), nil
}

func (f fixed) Topology() nvlink.Node { return nvlink.Node{GPUs: []nvlink.NodeGPU{{UUID: "GPU-1"}}} }

var (
	well   = agent.Status{Driver: agent.DriverStatus{Enabled: true, Answered: time.Unix(1, 0)}}
	deaf   = agent.Status{KernelLog: kernlog.Hearing{Kmsg: &kernlog.State{Deaf: "permission denied"}}, Driver: agent.DriverStatus{Enabled: true}, Store: "damaged"}
	noNVML = agent.Status{}
)

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		agent        Agent
		method, path string
		code         int
		body         []string
	}{
		"health":              {fixed{status: deaf}, "GET", "/healthz", 200, []string{"ok"}},
		"topology":            {fixed{}, "GET", "/api/v1/topology", 200, []string{`"GPU-1"`}},
		"a core that stands":  {fixed{alive: errors.New("the core has not turned for 30s")}, "GET", "/healthz", 503, []string{"has not turned"}},
		"ready":               {fixed{status: well}, "GET", "/readyz", 200, []string{"ok"}},
		"ready without NVML":  {fixed{status: noNVML}, "GET", "/readyz", 200, []string{"ok"}},
		"not ready":           {fixed{status: deaf}, "GET", "/readyz", 503, []string{"kernel log: permission denied\n", "driver: has not answered yet\n", "store: damaged"}},
		"metrics":             {fixed{}, "GET", "/metrics", 200, []string{"# TYPE promhttp_metric_handler_errors_total counter"}},
		"the page":            {fixed{}, "GET", "/", 200, []string{"/api/v1/status", "/metrics", "/healthz", "/readyz", "test"}},
		"nothing":             {fixed{}, "GET", "/nothing", 404, nil},
		"nothing below api":   {fixed{}, "GET", "/api/v1/", 404, nil},
		"status is read only": {fixed{}, "POST", "/api/v1/status", 405, nil},
		"health is read only": {fixed{}, "DELETE", "/healthz", 405, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := answer(t, c.agent, c.method, c.path)
			if got.Code != c.code {
				t.Errorf("%d, want %d: %s", got.Code, c.code, got.Body)
			}
			for _, want := range c.body {
				if !strings.Contains(got.Body.String(), want) {
					t.Errorf("no %q in %q", want, got.Body)
				}
			}
		})
	}
}

func answer(t *testing.T, a Agent, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	handler := Handler(a, bundles(t), prometheus.NewRegistry(), "test")
	got := httptest.NewRecorder()
	handler.ServeHTTP(got, httptest.NewRequest(method, path, http.NoBody))
	return got
}

func TestStatusIsJSON(t *testing.T) {
	got := answer(t, fixed{status: deaf}, "GET", "/api/v1/status")
	var s agent.Status
	if err := json.Unmarshal(got.Body.Bytes(), &s); err != nil || s.Store != deaf.Store || s.KernelLog.Deaf != deaf.KernelLog.Deaf {
		t.Errorf("%+v, %v", s, err)
	}
	if kind := got.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type %q", kind)
	}
}
