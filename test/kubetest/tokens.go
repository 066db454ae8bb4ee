package kubetest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAccount returns a configuration that carries an hour's token of an
// existing service account. With a node name the token is bound to that Node
// and carries its name as a claim; it ends with that very Node object. An empty
// node name leaves it unbound.
func (c *Cluster) ServiceAccount(t testing.TB, account types.NamespacedName, node string) *rest.Config {
	t.Helper()
	if node == "" {
		return c.withToken(t, account, nil)
	}
	return c.withToken(t, account, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node})
}

// Projected returns a configuration with the token that the kubelet projects into a
// pod of the account on a Node: it is bound to the pod, which is created for it, and
// carries the Node's name as a claim. The pod is called account-node, and goes with
// the test.
func (c *Cluster) Projected(t testing.TB, account types.NamespacedName, node string) *rest.Config {
	t.Helper()
	pods := c.client.CoreV1().Pods(account.Namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name + "-" + node},
		Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: account.Name,
			Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("pod of service account %s on node %s: %v", account, node, err)
	}
	t.Cleanup(func() {
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
		// The test may have deleted it, or stopped the API server.
		_ = pods.Delete(context.Background(), pod.Name, now)
	})
	return c.withToken(t, account, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID})
}

// withToken returns a configuration with a token that is bound to an object, or to none.
func (c *Cluster) withToken(t testing.TB, account types.NamespacedName, bound *authenticationv1.BoundObjectReference) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	answer, err := c.client.CoreV1().ServiceAccounts(account.Namespace).
		CreateToken(t.Context(), account.Name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("token of service account %s: %v", account, err)
	}
	config := c.anonymous()
	config.BearerToken = answer.Status.Token
	return config
}

// Kubeconfig writes a configuration to a file that lives as long as the test,
// and returns its path.
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	const name = "kubetest"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(fmt.Errorf("write kubeconfig: %w", err))
	}
	return path
}
