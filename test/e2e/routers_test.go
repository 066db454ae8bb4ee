package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// snippets are the blocks of docs/serving.md for routers: a Service, an InferencePool
// and a part of Envoy's configuration, with the namespace and the pods of a test.
func snippets(t *testing.T, namespace string) (service, pool, envoy string) {
	t.Helper()
	text := read(t, "../../docs/serving.md")
	for _, block := range regexp.MustCompile("(?ms)^```ya?ml\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		block := strings.NewReplacer("namespace: default", "namespace: "+namespace, "app: llama", "app: serve", "llama.default.svc", "llama."+namespace+".svc").Replace(block[1])
		switch {
		case strings.Contains(block, "kind: Service"):
			service = block
		case strings.Contains(block, "kind: InferencePool"):
			pool = block
		case strings.Contains(block, "static_resources"):
			envoy = block
		}
	}
	return service, pool, envoy
}

// pools is as much of the InferencePool's definition as its specification has.
const pools = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: inferencepools.inference.networking.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, a test's own"}
spec:
  group: inference.networking.k8s.io
  scope: Namespaced
  names: {kind: InferencePool, listKind: InferencePoolList, plural: inferencepools, singular: inferencepool}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [selector, targetPorts, endpointPickerRef]
            properties:
              selector:
                type: object
                required: [matchLabels]
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string, maxLength: 63, pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'}}
              targetPorts:
                type: array
                minItems: 1
                maxItems: 8
                items: {type: object, required: [number], properties: {number: {type: integer, minimum: 1, maximum: 65535}}}
              endpointPickerRef:
                type: object
                required: [name]
                properties:
                  group: {type: string}
                  kind: {type: string}
                  name: {type: string, minLength: 1}
                  port: {type: object, required: [number], properties: {number: {type: integer, minimum: 1, maximum: 65535}}}
                  failureMode: {type: string, enum: [FailOpen, FailClose]}
`

// TestRouters applies what docs/serving.md shows, and wants it to choose the pods that
// the agent lets have requests, and no others.
func TestRouters(t *testing.T) {
	t.Parallel()
	h := withCanary(t)
	cluster := shared.Cluster(t)
	service, pool, envoy := snippets(t, h.name)
	must(t, cluster.Apply(t.Context(), []byte(pools)))
	must(t, cluster.Apply(t.Context(), []byte(service)))
	daemontest.Await(t, "the pool is taken", func() bool { return cluster.Apply(t.Context(), []byte(pool)) == nil })

	made, err := h.admin.CoreV1().Services(h.name).Get(t.Context(), "llama", metav1.GetOptions{})
	must(t, err)
	var chosen struct {
		Spec struct {
			Selector    metav1.LabelSelector `json:"selector"`
			TargetPorts []struct {
				Number int32 `json:"number"`
			} `json:"targetPorts"`
		} `json:"spec"`
	}
	must(t, yaml.Unmarshal([]byte(pool), &chosen))
	selectors := map[string]labels.Selector{"Service": labels.SelectorFromSet(made.Spec.Selector), "InferencePool": labels.SelectorFromSet(chosen.Spec.Selector.MatchLabels)}
	if port := chosen.Spec.TargetPorts[0].Number; made.Spec.Ports[0].Port != port || made.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("the Service is %+v, the pool has port %d", made.Spec, port)
	}
	var config struct {
		Static struct {
			Clusters []struct {
				Load struct {
					Endpoints []struct {
						Endpoints []struct {
							Endpoint struct {
								Address struct {
									Socket struct {
										Address string `json:"address"`
										Port    int32  `json:"port_value"`
									} `json:"socket_address"`
								} `json:"address"`
							} `json:"endpoint"`
						} `json:"lb_endpoints"`
					} `json:"endpoints"`
				} `json:"load_assignment"`
			} `json:"clusters"`
		} `json:"static_resources"`
	}
	must(t, yaml.Unmarshal([]byte(envoy), &config))
	at := config.Static.Clusters[0].Load.Endpoints[0].Endpoints[0].Endpoint.Address.Socket
	if want := fmt.Sprintf("%s.%s.svc.cluster.local", made.Name, made.Namespace); at.Address != want || at.Port != made.Spec.Ports[0].Port {
		t.Errorf("Envoy asks %s:%d, want %s:%d", at.Address, at.Port, want, made.Spec.Ports[0].Port)
	}

	h.deploy("moved", []int{2})
	h.deploy("stays", []int{5})
	h.budget(0)
	h.begins()
	h.sicken(2)
	h.awaitLabel("moved", "", "draining")
	for who, selector := range selectors {
		for name, want := range map[string]bool{"moved": false, "stays": true} {
			if got := selector.Matches(labels.Set(h.pod(name).Labels)); got != want {
				t.Errorf("the %s chooses %s: %t", who, name, got)
			}
		}
	}
}
