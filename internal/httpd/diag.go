package httpd

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/gpuhealthd/gpuhealthd/remediate"
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
		fromAfar(w)
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
	accept(w, id, err)
}

// cancelDiagnosis takes back what is asked for. A page in somebody's browser cannot
// ask for that: no browser sends it another site's DELETE.
func cancelDiagnosis(w http.ResponseWriter, r *http.Request, a Agent) {
	if !local(r) {
		fromAfar(w)
		return
	}
	id, err := a.CancelDiagnosis(r.Context())
	accept(w, id, err)
}

func fromAfar(w http.ResponseWriter) {
	http.Error(w, "a diagnosis is asked for on this host alone: use kubectl exec, a shell on the node, or the Node's annotation "+remediate.AskAnnotation, http.StatusForbidden)
}

// accept names what was asked for, or says why it is not taken: 400 where it never
// will be.
func accept(w http.ResponseWriter, id string, err error) {
	var wrong remediate.RequestError
	switch {
	case errors.As(err, &wrong):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil:
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(DiagAccepted{id}) // the client is gone: nobody to tell
	}
}
