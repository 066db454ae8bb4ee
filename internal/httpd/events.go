package httpd

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/internal/evidence"
)

// listEvents answers with all incidents that the agent or a bundle knows.
func listEvents(w http.ResponseWriter, a Agent, b Bundles) {
	list, err := b.List()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s := a.Status()
	writeJSON(w, evidence.Merge(list, slices.Concat(s.History, s.Incidents)))
}

// sendBundle answers with an incident's bundle as it lies on disk. It holds kernel
// lines of any program, which are root's to read on most hosts: so only a process
// on this host, or in this pod, gets it.
func sendBundle(w http.ResponseWriter, r *http.Request, b Bundles) {
	if !local(r) {
		http.Error(w, "a bundle is given to this host alone: use kubectl exec, or a shell on the node", http.StatusForbidden)
		return
	}
	text, err := b.Raw(r.PathValue("id"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(text) // the client is gone: nobody to tell
	}
}

func local(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && net.ParseIP(host).IsLoopback()
}
