package kube

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config finds the API server: by the kubeconfig file at path, or, with an
// empty path, by the service account of the pod we run in. The version goes
// into the user agent.
func Config(path, version string) (*rest.Config, error) {
	config, err := load(path)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "gpuhealthd/" + version
	return config, nil
}

func load(path string) (*rest.Config, error) {
	if path == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("service account of this pod: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return config, nil
}
