package serving

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/collector/canary"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// The annotations by which a pod says where a canary asks it.
const (
	// AnnotationCanary has one or more ports of the OpenAI API, with commas, or none:
	// then no canary asks. Unless it is set, that is at the port of the metrics, of
	// engines that have it there.
	AnnotationCanary = "gpuhealthd.io/canary-port"
	// AnnotationModel is the model to ask for; the first that is listed unless set.
	AnnotationModel = "gpuhealthd.io/canary-model"

	// dynamoComponent is on each of Dynamo's workers. Their engines tell metrics, and
	// speak to Dynamo's frontend alone.
	dynamoComponent = "nvidia.com/dynamo-component-type"
)

// wish is what is said of a replica for the canary.
type wish struct {
	none  bool
	urls  []string // empty is where the metrics are
	model string
}

// wishOf is what a pod says. An error names annotation and value.
func (o Options) wishOf(pod *corev1.Pod, role string) (w wish, err error) {
	w.model = pod.Annotations[AnnotationModel]
	text := pod.Annotations[AnnotationCanary]
	switch {
	case !o.Canary || text == noPort:
		return wish{none: true}, nil
	case text == "":
		_, dynamo := pod.Labels[dynamoComponent]
		w.none = dynamo || role != "" && role != string(serving.Decode) // it alone answers by itself
		return w, nil
	}
	scheme, err := schemeOf(pod, AnnotationScheme)
	if err != nil {
		return wish{none: true}, err
	}
	for _, text := range strings.Split(text, ",") {
		port, err := portOf(AnnotationCanary, strings.TrimSpace(text))
		if err != nil {
			return wish{none: true}, err
		}
		w.urls = append(w.urls, (&url.URL{Scheme: scheme, Host: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port)))}).String())
	}
	return w, nil
}

// canaries are where a replica is asked, and whether it is, now or once its kind of
// engine is known. Nobody is sent requests of whom only a guess says that he serves.
func (s *Serving) canaries(r serving.Replica, w wish, endpoints []endpoint) (targets []canary.Target, asked bool) {
	if w.none {
		return nil, false
	}
	urls := w.urls
	if len(urls) == 0 {
		for _, e := range endpoints {
			switch dialect := s.dialectOf(r, e); {
			case dialect == "" && e.guessed:
				asked = true
			case dialect == "" || s.options.Dialects.OpenAI(dialect):
				urls = append(urls, root(e.url))
			}
		}
	}
	for _, at := range urls {
		targets = append(targets, canary.Target{Replica: r, URL: at, Model: w.model})
	}
	return targets, asked || len(urls) > 0
}

// dialectOf is the kind of engine at an endpoint, as far as that is known.
func (s *Serving) dialectOf(r serving.Replica, e endpoint) string {
	if e.dialect != "" {
		return e.dialect
	}
	return s.spoken[keyOf(r, e.url)]
}

// root is the server of a URL.
func root(of string) string {
	u, err := url.Parse(of)
	if err != nil {
		return of // whoever asks there says what is wrong
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// Canaries are where canaries may ask now, of those that may be asked: not those that
// sleep or were paused, nor those whose pods are about to go.
func (s *Serving) Canaries(may func(serving.Replica) bool) (targets []canary.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.askable {
		if may(t.Replica) && !s.paused(t.Replica) {
			targets = append(targets, t)
		}
	}
	return targets
}

// paused says whether an engine of a replica has said last that it is.
func (s *Serving) paused(r serving.Replica) bool {
	return slices.ContainsFunc(s.last, func(scrape serving.Scrape) bool {
		return scrape.Replica.ID() == r.ID() && slices.ContainsFunc(scrape.Engines, func(e serving.Reading) bool { return e.Paused != nil && *e.Paused })
	})
}
