package serving

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

// The annotations by which a pod says where its engines tell of themselves.
const (
	// AnnotationPort has one or more ports, with commas, or none: then nothing here is
	// asked, whatever else the pod says.
	AnnotationPort = "gpuhealthd.io/serving-port"
	// AnnotationPath is the path; the dialect's own, or /metrics, unless set.
	AnnotationPath = "gpuhealthd.io/serving-path"
	// AnnotationScheme is http, which it is unless set, or https.
	AnnotationScheme = "gpuhealthd.io/serving-scheme"
	// AnnotationDialect is the name of a dialect; it is found out unless set.
	AnnotationDialect = "gpuhealthd.io/serving-dialect"

	// What many sites have for Prometheus.
	prometheusScrape = "prometheus.io/scrape"
	prometheusPort   = "prometheus.io/port"
	prometheusPath   = "prometheus.io/path"
	prometheusScheme = "prometheus.io/scheme"

	// noPort says in AnnotationPort that there is none.
	noPort = "none"
)

// annotations are those that are read.
func annotations() []string {
	return []string{AnnotationPort, AnnotationPath, AnnotationScheme, AnnotationDialect, AnnotationCanary, AnnotationModel,
		pods.AnnotationOut, pods.KeyServing, pods.AnnotationStale,
		prometheusScrape, prometheusPort, prometheusPath, prometheusScheme}
}

// endpoint is where a pod may be asked.
type endpoint struct {
	url, dialect string
	// guessed: the pod does not say that an engine is there.
	guessed bool
}

// endpoints are those of a pod: those that it names for us, or else those of named
// ports, or else what it names for Prometheus. An error names annotation and value.
func (o Options) endpoints(pod *corev1.Pod) ([]endpoint, error) {
	if text := pod.Annotations[AnnotationPort]; text != "" {
		return named(pod, text, o.Dialects)
	}
	var found []endpoint
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name != "" && slices.Contains(o.Ports, port.Name) {
				found = append(found, endpoint{url: address(pod, "http", port.ContainerPort, collect.DefaultPath), guessed: true})
			}
		}
	}
	if len(found) > 0 || pod.Annotations[prometheusScrape] != "true" || pod.Annotations[prometheusPort] == "" {
		return found, nil
	}
	port, err := portOf(prometheusPort, pod.Annotations[prometheusPort])
	if err != nil {
		return nil, err
	}
	scheme, err := schemeOf(pod, prometheusScheme)
	if err != nil {
		return nil, err
	}
	return []endpoint{{url: address(pod, scheme, port, cmp.Or(pod.Annotations[prometheusPath], collect.DefaultPath)), guessed: true}}, nil
}

// named are the endpoints that a pod names for us.
func named(pod *corev1.Pod, ports string, dialects *collect.Dialects) (found []endpoint, err error) {
	if ports == noPort {
		return nil, nil
	}
	dialect := pod.Annotations[AnnotationDialect]
	if dialect != "" && !slices.Contains(dialects.Names(), dialect) {
		return nil, fmt.Errorf("annotation %s: %.80q is not one of %s", AnnotationDialect, dialect, strings.Join(dialects.Names(), ", "))
	}
	scheme, err := schemeOf(pod, AnnotationScheme)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(pod.Annotations[AnnotationPath], dialects.Path(dialect))
	for _, text := range strings.Split(ports, ",") {
		port, err := portOf(AnnotationPort, strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		found = append(found, endpoint{url: address(pod, scheme, port, path), dialect: dialect})
	}
	return found, nil
}

func portOf(annotation, text string) (int32, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("annotation %s: %.80q is no port", annotation, text)
	}
	return int32(port), nil
}

func schemeOf(pod *corev1.Pod, annotation string) (string, error) {
	scheme := cmp.Or(pod.Annotations[annotation], "http")
	if scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("annotation %s: %.80q is not http or https", annotation, scheme)
	}
	return scheme, nil
}

func address(pod *corev1.Pod, scheme string, port int32, path string) string {
	host := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port)))
	return (&url.URL{Scheme: scheme, Host: host, Path: path}).String()
}
