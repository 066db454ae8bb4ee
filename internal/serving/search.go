package serving

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/collector/canary"
	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// search is what one look at the pods finds: their endpoints, how they come to their
// trials, and what is still to be remembered.
type search struct {
	now      time.Time
	targets  []collect.Target
	entrants []serving.Entrant
	askable  []canary.Target
	foreign  map[string]time.Time
	told     map[types.UID]string
	unfound  []Unfound
	// endpoints are how many each pod has, by UID.
	endpoints map[string]int
	// lacking says that a pod seems to lack what it was given.
	lacking bool
}

// ofSite adds the engines that the site names and, where there are no pods, the jobs
// that hold GPUs beside them.
func (s *Serving) ofSite(found *search) {
	bare := s.options.Config == nil
	if bare || s.local.byProcess() {
		s.local.look(found.now)
	}
	if bare {
		s.jobs = append(s.jobs, s.local.jobs...)
	}
	for _, e := range s.local.replicas() {
		s.miss(found, e.engine, s.local.unfound(e.engine, e.pid))
		if e.engine.Process != "" && e.pid == 0 {
			continue
		}
		asks, asked := s.canaries(e.replica, e.wish, e.endpoints)
		found.askable = append(found.askable, asks...)
		found.entrants = append(found.entrants, serving.Entrant{Replica: e.replica, Asked: asked})
		for _, at := range e.endpoints {
			found.targets = append(found.targets, collect.Target{Replica: e.replica, URL: at.url, Dialect: at.dialect, PID: e.pid})
		}
	}
}

// noGPU is why a pod is not asked that was given no GPU, as far as is known.
const noGPU = "no GPU of this node is known to be given to it"

// ofPod adds a pod: as a replica where it has endpoints, or else as a job where it was
// given a GPU.
func (s *Serving) ofPod(found *search, pod *corev1.Pod) {
	gpus := s.grants.of(pod)
	r := s.options.replica(pod, gpus)
	if len(gpus) == 0 && seems(pod) {
		found.lacking = true
		if namesPort(pod) {
			found.unfound = append(found.unfound, Unfound{r.Name, noGPU})
		}
	}
	if len(gpus) == 0 {
		s.enters(found, pod, s.entrant(pod, r, noGPU), nil)
		return
	}
	endpoints, err := s.options.endpoints(pod)
	s.complain(found, pod, err)
	serves := s.scraped(found, pod, r, endpoints)
	if !serves {
		s.jobs = append(s.jobs, serving.Job{Name: r.Name, UID: r.UID, GPUs: gpus})
	}
	w, err := s.options.wishOf(pod, r.Role)
	s.complain(found, pod, err)
	asks, asked := s.canaries(r, w, endpoints)
	lacks := ""
	if !serves && len(asks) == 0 {
		lacks = "it has no endpoint at which a serving engine is known"
	}
	e := s.entrant(pod, r, lacks)
	e.Asked = asked
	s.enters(found, pod, e, asks)
}

// enters adds how a pod comes to its trial, if it comes to one, and where it is asked.
func (s *Serving) enters(found *search, pod *corev1.Pod, e serving.Entrant, asks []canary.Target) {
	switch w := pods.WayOf(pod); {
	case pod.DeletionTimestamp != nil, e.Lacks != "" && !e.Held:
	case w.Deed, w.State == pods.Stalled:
		found.entrants = append(found.entrants, e)
	default:
		found.entrants, found.askable = append(found.entrants, e), append(found.askable, asks...)
	}
}

// complain tells what is wrong with a pod, and logs it once.
func (s *Serving) complain(found *search, pod *corev1.Pod, err error) {
	if err == nil {
		return
	}
	found.unfound = append(found.unfound, Unfound{pod.Namespace + "/" + pod.Name, err.Error()})
	found.told[pod.UID] += err.Error()
	if !strings.Contains(s.told[pod.UID], err.Error()) {
		s.options.Log.Warn("a pod's engine is not asked", "pod", pod.Namespace+"/"+pod.Name, "error", err)
	}
}

// scraped adds the endpoints of a pod, and says whether it may be a replica by them.
func (s *Serving) scraped(found *search, pod *corev1.Pod, r serving.Replica, endpoints []endpoint) (serves bool) {
	for _, e := range endpoints {
		key := keyOf(r, e.url)
		at, wrong := s.foreign[key]
		if wrong {
			found.foreign[key] = at
		}
		if !wrong {
			serves = true
			found.endpoints[r.UID]++
		}
		if wrong && found.now.Sub(at) < foreignFor {
			continue
		}
		s.guesses[key] = e.guessed
		found.targets = append(found.targets, collect.Target{Replica: r, URL: e.url, Dialect: e.dialect, Alive: alive(pod)})
	}
	return serves
}
