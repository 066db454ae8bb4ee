// Package kubetest runs a real Kubernetes control plane for tests: etcd and
// kube-apiserver on 127.0.0.1, with the Node and RBAC authorizers and the
// NodeRestriction admission plugin.
//
// There is no controller-manager or kubelet, and a scheduler only for a test that
// asks for it: nothing but the test and the code under test changes an object. A
// new Node carries the taint node.kubernetes.io/not-ready that the API server
// itself gives it.
//
// The binaries come from test/cluster/build.sh, which builds them once. No
// process outlives the test binary, even one that is killed.
package kubetest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// Cluster is one running control plane. Its methods may be called from one
// goroutine at a time; the clients made from its configurations have no such limit.
type Cluster struct {
	dir       string // certificates, keys, etcd data, logs
	files     credentials
	ports     ports
	binaries  string
	etcd      *process.Process
	apiserver *process.Process
	client    kubernetes.Interface // as admin
}

// New starts a control plane and returns when the API server is ready, after
// about three seconds. The caller must Stop it; tests use Start or Shared.
func New() (*Cluster, error) {
	binaries, err := binaries("etcd", "kube-apiserver")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, fmt.Errorf("kubetest: %w", err)
	}
	c := &Cluster{dir: dir, binaries: binaries}
	if err := c.start(); err != nil {
		c.Stop()
		return nil, fmt.Errorf("kubetest: %w", err)
	}
	return c, nil
}

func (c *Cluster) start() (err error) {
	if c.files, err = writeCredentials(c.dir); err != nil {
		return err
	}
	if c.ports, err = freePorts(); err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(c.Admin()); err != nil {
		return err
	}
	if c.etcd, err = c.run("etcd", c.etcdArgs()); err != nil {
		return err
	}
	return c.StartAPIServer()
}

// Stop kills both processes and removes their files.
func (c *Cluster) Stop() {
	c.StopAPIServer()
	c.etcd.Kill()
	_ = os.RemoveAll(c.dir) // A leftover folder in the temp directory harms nothing.
}

// Admin returns a configuration that may do everything and is not rate limited.
func (c *Cluster) Admin() *rest.Config {
	config := c.anonymous()
	config.BearerToken = c.files.adminToken
	return config
}

// anonymous names and verifies the API server, and carries no identity.
func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", c.ports.apiserver),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.files.certificate},
		QPS:             -1,
	}
}

// Start starts a control plane for one test and stops it when the test ends.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// Shared is one control plane for all tests of a package, started by the first
// test that asks for it. The package owns it and stops it when its tests are over:
//
//	var shared kubetest.Shared
//
//	func TestMain(m *testing.M) {
//		defer shared.Stop()
//		m.Run()
//	}
type Shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// Cluster returns the shared control plane; the test fails where it cannot start.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	s.once.Do(func() { s.cluster, s.err = New() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

// Stop stops the control plane if a test has started it.
func (s *Shared) Stop() {
	if s.cluster != nil {
		s.cluster.Stop()
	}
}
