package serving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
)

func dialects(t testing.TB) *collect.Dialects {
	t.Helper()
	d, err := collect.NewDialects(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pod is one that runs at an address, with annotations and a named port.
func pod(ip string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "uid", Annotations: annotations},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "sidecar", Ports: []corev1.ContainerPort{{ContainerPort: 1}, {Name: "web", ContainerPort: 80}}},
			{Name: "engine", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8002}}},
		}},
		Status: corev1.PodStatus{PodIP: ip},
	}
}

func TestEndpoints(t *testing.T) {
	prometheus := map[string]string{prometheusScrape: "true", prometheusPort: "9", prometheusPath: "/m", prometheusScheme: "https"}
	tests := []struct {
		name, ip    string
		ports       []string
		annotations map[string]string
		want        []endpoint
	}{
		{name: "nothing said", ip: "10.0.0.1"},
		{name: "a port", ip: "10.0.0.1", annotations: map[string]string{AnnotationPort: "8000"},
			want: []endpoint{{url: "http://10.0.0.1:8000/metrics"}}},
		{name: "two, of TLS, at a path", ip: "fd00::1", annotations: map[string]string{
			AnnotationPort: "8000, 8001", AnnotationScheme: "https", AnnotationPath: "/a b?c", AnnotationDialect: "vllm",
		}, want: []endpoint{{url: "https://[fd00::1]:8000/a%20b%3Fc", dialect: "vllm"}, {url: "https://[fd00::1]:8001/a%20b%3Fc", dialect: "vllm"}}},
		{name: "the path of a dialect", ip: "10.0.0.1", annotations: map[string]string{AnnotationPort: "8000", AnnotationDialect: "trtllm"},
			want: []endpoint{{url: "http://10.0.0.1:8000/prometheus/metrics", dialect: "trtllm"}}},
		{name: "no other host by the path", ip: "10.0.0.1", annotations: map[string]string{AnnotationPort: "8000", AnnotationPath: "@example.com/"},
			want: []endpoint{{url: "http://10.0.0.1:8000/@example.com/"}}},
		{name: "a named port", ip: "10.0.0.1", ports: []string{"other", "metrics"}, want: []endpoint{{url: "http://10.0.0.1:8002/metrics", guessed: true}}},
		{name: "Prometheus", ip: "10.0.0.1", annotations: prometheus, want: []endpoint{{url: "https://10.0.0.1:9/m", guessed: true}}},
		{name: "a named port before Prometheus", ip: "10.0.0.1", ports: []string{"metrics"}, annotations: prometheus,
			want: []endpoint{{url: "http://10.0.0.1:8002/metrics", guessed: true}}},
		{name: "not for Prometheus", ip: "10.0.0.1", annotations: map[string]string{prometheusScrape: "false", prometheusPort: "9"}},
		{name: "of any port", ip: "10.0.0.1", annotations: map[string]string{prometheusScrape: "true"}},
		{name: "none", ip: "10.0.0.1", ports: []string{"metrics"}, annotations: map[string]string{AnnotationPort: "none", prometheusScrape: "true", prometheusPort: "9"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Options{Ports: test.ports, Dialects: dialects(t)}.endpoints(pod(test.ip, test.annotations))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(endpoint{})); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestEndpointsRefused(t *testing.T) {
	tests := map[string]map[string]string{
		`annotation gpuhealthd.io/serving-port: "0"`:       {AnnotationPort: "0"},
		`annotation gpuhealthd.io/serving-port: "65536"`:   {AnnotationPort: "8000,65536"},
		`annotation gpuhealthd.io/serving-port: "http"`:    {AnnotationPort: "http"},
		`annotation gpuhealthd.io/serving-scheme: "ftp"`:   {AnnotationPort: "1", AnnotationScheme: "ftp"},
		`annotation gpuhealthd.io/serving-dialect: "mine"`: {AnnotationPort: "1", AnnotationDialect: "mine"},
		`annotation prometheus.io/port: "x"`:               {prometheusScrape: "true", prometheusPort: "x"},
		`annotation prometheus.io/scheme: "x"`:             {prometheusScrape: "true", prometheusPort: "1", prometheusScheme: "x"},
	}
	for want, annotations := range tests {
		got, err := Options{Dialects: dialects(t)}.endpoints(pod("10.0.0.1", annotations))
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want %s", got, err, want)
		}
	}
}
