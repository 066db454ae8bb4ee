package httpd

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
)

// DiagRequest asks for a diagnosis, of all GPUs where it names none.
type DiagRequest struct {
	// Level is 1, 2 or 3.
	Level int `json:"level"`
	// GPUs are UUIDs.
	GPUs []string `json:"gpus"`
}

// DiagAccepted names the diagnosis that will be: the status has its answer.
type DiagAccepted struct {
	ID string `json:"id"`
}

// maxRequest bounds what is read of a request, in bytes.
const maxRequest = 64 << 10

// diagnose asks for a diagnosis. Only a process on this host, or in this pod, may:
// it takes the GPUs' full power. That it must be said to be JSON keeps a page in
// somebody's browser from it.
func diagnose(w http.ResponseWriter, r *http.Request, a Agent) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what cannot be read is no JSON
	switch {
	case !local(r):
		http.Error(w, "a diagnosis is asked for on this host alone: use kubectl exec, a shell on the node, or the Node's annotation gpuhealthd.io/diag-request", http.StatusForbidden)
		return
	case kind != "application/json":
		http.Error(w, "the request is not said to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	var asked DiagRequest
	from := json.NewDecoder(io.LimitReader(r.Body, maxRequest))
	from.DisallowUnknownFields()
	if err := from.Decode(&asked); err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return
	}
	id, err := a.Diagnose(r.Context(), asked.Level, asked.GPUs)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(DiagAccepted{id}) // the client is gone: nobody to tell
}
