package kubetest

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/test/process"
)

// startLimit is long for a machine that compiles something else meanwhile; a
// quiet one needs three seconds.
const startLimit = 90 * time.Second

type ports struct{ etcd, apiserver int }

func freePorts() (ports, error) {
	etcd, err := freePort()
	if err != nil {
		return ports{}, err
	}
	apiserver, err := freePort()
	return ports{etcd: etcd, apiserver: apiserver}, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (c *Cluster) etcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.ports.etcd) }

func (c *Cluster) etcdArgs() []string {
	return []string{
		"--data-dir=" + filepath.Join(c.dir, "etcd"),
		"--listen-client-urls=" + c.etcdURL(),
		"--advertise-client-urls=" + c.etcdURL(),
		"--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync",
	}
}

func (c *Cluster) apiserverArgs() []string {
	return []string{
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.ports.apiserver),
		"--tls-cert-file=" + c.files.certificateFile,
		"--tls-private-key-file=" + c.files.keyFile,
		"--token-auth-file=" + c.files.tokenFile,
		"--service-account-issuer=https://kubetest.invalid",
		"--service-account-key-file=" + c.files.signingKeyFile,
		"--service-account-signing-key-file=" + c.files.signingKeyFile,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
		"--allow-privileged", // as every cluster that runs a node agent
		"--authorization-mode=Node,RBAC",
		// What older clusters have alone.
		"--runtime-config=resource.k8s.io/v1beta2=true,resource.k8s.io/v1alpha3=true",
		"--enable-admission-plugins=NodeRestriction",
		// It waits for what a controller-manager makes.
		"--disable-admission-plugins=ServiceAccount",
	}
}

// StartAPIServer starts the API server on the port, with the certificates and
// over the objects that it had before, and returns when it is ready.
func (c *Cluster) StartAPIServer() (err error) {
	c.apiserver, err = c.run("kube-apiserver", c.apiserverArgs())
	if err != nil {
		return err
	}
	return c.waitReady()
}

// run starts one of the binaries.
func (c *Cluster) run(name string, args []string) (*process.Process, error) {
	return process.Start(filepath.Join(c.dir, name+".log"), exec.Command(filepath.Join(c.binaries, name), args...))
}

// StopAPIServer kills the API server: connections break and new ones are
// refused until StartAPIServer. etcd keeps running.
func (c *Cluster) StopAPIServer() { c.apiserver.Kill() }

// PauseAPIServer stops the API server in its tracks: connections are accepted
// by the kernel and nothing answers, until ResumeAPIServer.
func (c *Cluster) PauseAPIServer() error { return c.apiserver.Pause() }

// ResumeAPIServer lets a paused API server go on.
func (c *Cluster) ResumeAPIServer() error { return c.apiserver.Signal(syscall.SIGCONT) }

// waitReady asks /readyz until it agrees, a process dies or startLimit is over.
func (c *Cluster) waitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		if err == nil {
			return nil
		}
		select {
		case <-c.etcd.Done():
			return fmt.Errorf("etcd ended:\n%s", c.etcd.Tail())
		case <-c.apiserver.Done():
			return fmt.Errorf("kube-apiserver ended:\n%s", c.apiserver.Tail())
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver not ready after %s: %w\n%s", startLimit, err, c.apiserver.Tail())
		case <-again.C:
		}
	}
}
