package serving

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// rights are those to follow pods, for the account of one test.
const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects:
- {kind: ServiceAccount, name: %[1]s, namespace: default}
`

// records is a log for several goroutines.
type records struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// TestMissingRights are named, with where they are, and it goes on once they are there.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	cluster := shared.Cluster(t)
	b := newBench(t)
	account := types.NamespacedName{Namespace: "default", Name: b.name}
	if err := cluster.Apply(t.Context(), fmt.Appendf(nil, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: default}}", b.name)); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitAllowed(t, account, authorizationv1.ResourceAttributes{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"})
	var log records
	b.serving.options.Config = cluster.ServiceAccount(t, account, b.name)
	b.serving.options.Log = slog.New(slog.NewJSONHandler(&log, nil))
	b.serving.troubles = newTroubles(b.serving.options.Log)
	b.start()
	daemontest.Await(t, "what is missing is named", func() bool {
		all := b.serving.Troubles()
		return len(all) == 1 && strings.Contains(all[0], "the pods of this node cannot be followed") && strings.Contains(all[0], "deploy/serving.yaml")
	})
	if err := cluster.Apply(t.Context(), fmt.Appendf(nil, rights, b.name)); err != nil {
		t.Fatal(err)
	}
	b.await()
	daemontest.Await(t, "it is followed, and there is no trouble", func() bool { return len(b.serving.Troubles()) == 0 })
	if n := strings.Count(log.String(), "a right is missing"); n != 1 {
		t.Errorf("the log has %d records of it:\n%s", n, log.String())
	}
}
