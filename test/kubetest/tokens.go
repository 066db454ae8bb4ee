package kubetest

import (
	"fmt"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAccount returns a configuration that carries an hour's token of an
// existing service account. With a node name the token is bound to that Node
// and carries its name as a claim, as one that the kubelet projects does; it
// ends with that very Node object. An empty node name leaves it unbound.
func (c *Cluster) ServiceAccount(t testing.TB, account types.NamespacedName, node string) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if node != "" {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node}
	}
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
