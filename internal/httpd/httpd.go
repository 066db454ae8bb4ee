// Package httpd is where the daemon answers: /metrics for Prometheus, /healthz
// for whoever restarts it, /readyz for whoever relies on its sources, and
// /api/v1/status, /api/v1/topology and /api/v1/events for people and their tools, and a
// page at / that shows the most of it.
// All of it is read only, but that a process of this host may ask for a diagnosis.
package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// Agent is what is shown.
type Agent interface {
	Status() agent.Status
	Topology() nvlink.Node
	Alive() error
	// Diagnose asks for a diagnosis, and gives the ID of its answer in the status.
	Diagnose(ctx context.Context, level int, gpus []string) (id string, err error)
	// CancelDiagnosis takes back the one that is asked for.
	CancelDiagnosis(ctx context.Context) (id string, err error)
}

// Bundles is the evidence that incidents left: an evidence.Dir.
type Bundles interface {
	List() ([]evidence.Summary, error)
	Raw(id string) ([]byte, error)
}

// Handler answers for an agent whose metrics are in reg, and for its evidence.
func Handler(a Agent, b Bundles, reg *prometheus.Registry, version string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { showPage(w, r, a, version) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: reg, MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.Alive(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := a.Status().NotReady(); len(why) > 0 {
			http.Error(w, strings.Join(why, "\n"), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, a.Status())
	})
	mux.HandleFunc("GET /api/v1/topology", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, a.Topology())
	})
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, _ *http.Request) { listEvents(w, a, b) })
	mux.HandleFunc("GET /api/v1/events/{id}", func(w http.ResponseWriter, r *http.Request) { sendBundle(w, r, b) })
	mux.HandleFunc("POST /api/v1/diag", func(w http.ResponseWriter, r *http.Request) { diagnose(w, r, a) })
	mux.HandleFunc("DELETE /api/v1/diag", func(w http.ResponseWriter, r *http.Request) { cancelDiagnosis(w, r, a) })
	return mux
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(value) // the client is gone: nobody to tell
}
