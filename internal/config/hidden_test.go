package config

import (
	"slices"
	"testing"
)

func TestFilesInHomes(t *testing.T) {
	c, err := Parse("c.yaml", []byte(`
actuator: exec
exec: {quarantine: [/home/ops/take, /root/x], release: [/homes/give]}
kubernetes: {kubeconfig: /etc/../root/.kube/config}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{"kubernetes.kubeconfig", "/etc/../root/.kube/config"}, {"exec.quarantine", "/home/ops/take"}}
	if got := c.InHomes(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
