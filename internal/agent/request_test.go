package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/request"
)

// asker is the real way to ask somebody else for a reset, on an API that is a
// machine's.
func asker(t testing.TB, h hand) Doer {
	client, err := apiserver.New(&rest.Config{Host: "http://machine", Transport: notes{h}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request.Annotation("node-1", client)
}

// notes are the Node's annotations as an API server would hold them. Each patch is
// a point to crash at, before and after.
type notes struct{ hand }

func (a notes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if !a.c.does(func() { err = a.m.patch(types.PatchType(r.Header.Get("Content-Type")), body) }) {
			return nil, blocks(r.Context())
		}
		if err != nil {
			return nil, err
		}
	}
	return a.m.node()
}

// node answers with the Node.
func (m *machine) node() (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, err := json.Marshal(corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", Annotations: m.Notes}})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(text)),
		Header: http.Header{"Content-Type": {"application/json"}}}, err
}

// patch changes annotations by a patch of either kind.
func (m *machine) patch(kind types.PatchType, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kind == types.JSONPatchType {
		return m.patchJSON(body)
	}
	var merge struct {
		Metadata struct {
			Annotations map[string]*string
		}
	}
	if err := json.Unmarshal(body, &merge); err != nil {
		return err
	}
	for key, value := range merge.Metadata.Annotations {
		if delete(m.Notes, key); value != nil {
			m.Notes[key] = *value
		}
	}
	if deed, asked := m.asked(); asked {
		m.may("request", deed, "request")
	}
	return nil
}

func (m *machine) patchJSON(body []byte) error {
	var steps []struct{ Op, Path, Value string }
	if err := json.Unmarshal(body, &steps); err != nil {
		return err
	}
	for _, s := range steps {
		key := strings.ReplaceAll(strings.TrimPrefix(s.Path, "/metadata/annotations/"), "~1", "/")
		switch {
		case s.Op == "test" && m.Notes[key] != s.Value:
			return io.ErrUnexpectedEOF
		case s.Op == "remove":
			delete(m.Notes, key)
		}
	}
	return nil
}

// asked gives the deed that somebody else is asked for.
func (m *machine) asked() (deed remediate.Deed, ok bool) {
	var a request.Asked
	if json.Unmarshal([]byte(m.Notes[request.RequestAnnotation]), &a) != nil {
		return deed, false
	}
	return remediate.Deed{ID: a.ID, Kind: a.Kind, GPUs: a.GPUs, Deadline: a.Deadline}, true
}

// serve lets somebody else do what is asked for, and answer.
func (m *machine) serve() {
	deed, ok := m.asked()
	if _, answered := m.Notes[request.ResponseAnnotation]; !ok || answered || time.Now().After(deed.Deadline) {
		return
	}
	m.renew(deed)
	answer, err := json.Marshal(request.Answer{ID: deed.ID, Result: remediate.Succeeded})
	if err != nil {
		m.wrong("answer: %v", err)
	}
	m.Notes[request.ResponseAnnotation] = string(answer)
}
