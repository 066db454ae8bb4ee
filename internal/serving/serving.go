package serving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Serving knows who serves, and what they have said. Run may be called once; Load
// from any goroutine.
type Serving struct {
	options Options
	scraper *collect.Scraper
	local   *local
	grants  *grants
	pods    cache.Store // nil until the first list of pods is there

	// Of the goroutine that Run calls out from.
	jobs    []serving.Job
	guesses map[string]bool      // endpoints that nobody has named, of this round
	foreign map[string]time.Time // those of them at which there was no engine, and when
	told    map[types.UID]string // what the log has been told of a pod

	mu   sync.Mutex
	last []serving.Scrape
}

// New asks nobody anything.
func New(o Options) (*Serving, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Serving{options: o, local: newLocal(o), grants: newGrants(o), foreign: map[string]time.Time{}}
	var err error
	s.scraper, err = collect.New(collect.Options{
		Targets: s.targets, Period: o.Period, Deadline: o.Deadline, Dialects: o.Dialects, Proc: o.Proc,
	})
	return s, err
}

// Run looks at everybody each period until ctx ends, and calls out from one goroutine
// with all that is known of the replicas and the jobs of the node; collect.Scraper.Run
// says when. With pods it begins when the first list of them is there, and the kubelet
// has said once who was given what.
func (s *Serving) Run(ctx context.Context, out func([]serving.Scrape, []serving.Job)) error {
	if s.options.Config != nil {
		store, controller, err := watch(s.options, s.grants.changed)
		if err != nil {
			return fmt.Errorf("watch the pods of node %s: %w", s.options.Node, err)
		}
		var following sync.WaitGroup
		defer following.Wait()
		following.Go(func() { controller.RunWithContext(ctx) })
		following.Go(func() { s.grants.run(ctx) })
		s.grants.changed() // on a node without any pod nothing else would ask
		if !cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
			return nil
		}
		s.pods = store
		select {
		case <-s.grants.answered: // before that, who serves would seem to be gone
		case <-ctx.Done():
			return nil
		}
	}
	s.scraper.Run(ctx, func(list []serving.Scrape) {
		list = s.keep(list)
		out(list, s.jobs)
	})
	return nil
}

// foreignFor is how long an endpoint that was a wrong guess is left alone. A worker
// may tell of itself before its engine is there to.
const foreignFor = time.Minute

// keep leaves out the answers of endpoints that were a guess, and a wrong one.
func (s *Serving) keep(list []serving.Scrape) []serving.Scrape {
	kept := make([]serving.Scrape, 0, len(list))
	for _, scrape := range list {
		if !s.guessedWrong(scrape) {
			kept = append(kept, scrape)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = kept
	return kept
}

// guessedWrong remembers of a guess whether there is an engine. Once there was none,
// only an engine's own answer changes that.
func (s *Serving) guessedWrong(scrape serving.Scrape) bool {
	key := keyOf(scrape.Replica, scrape.Endpoint)
	switch {
	case !s.guesses[key]:
		return false
	case scrape.Answer == serving.Answered:
		delete(s.foreign, key)
	case scrape.Answer == serving.Foreign:
		s.foreign[key] = scrape.At
	}
	_, wrong := s.foreign[key]
	return wrong
}

// keyOf tells an endpoint of one life of a replica from all others.
func keyOf(r serving.Replica, url string) string { return r.UID + " " + r.Life + " " + url }

// targets are the endpoints of the replicas as they are now; who is a job is found on
// the way.
func (s *Serving) targets() []collect.Target {
	s.jobs, s.guesses = nil, map[string]bool{}
	targets := s.local.targets(time.Now())
	if s.pods == nil {
		return targets
	}
	found := search{now: time.Now(), foreign: map[string]time.Time{}, told: map[types.UID]string{}}
	for _, pod := range s.running() {
		gpus := s.grants.of(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		if len(gpus) == 0 {
			continue
		}
		if !s.ofPod(&found, pod, s.options.replica(pod, gpus)) {
			s.jobs = append(s.jobs, serving.Job{Name: pod.Namespace + "/" + pod.Name, UID: string(pod.UID), GPUs: gpus})
		}
	}
	s.foreign, s.told = found.foreign, found.told
	return append(targets, found.targets...)
}

// search is what one look at the pods finds: their endpoints, and what is still to be
// remembered.
type search struct {
	now     time.Time
	targets []collect.Target
	foreign map[string]time.Time
	told    map[types.UID]string
}

// running are the pods that have begun and will go on, sorted by name.
func (s *Serving) running() (pods []*corev1.Pod) {
	for _, object := range s.pods.List() {
		if pod, ok := object.(*corev1.Pod); ok && !over(pod) && pod.Status.PodIP != "" {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// ofPod adds the endpoints of a pod, and says whether it may be a replica by them.
func (s *Serving) ofPod(found *search, pod *corev1.Pod, r serving.Replica) (serves bool) {
	endpoints, err := s.options.endpoints(pod)
	if err != nil {
		found.told[pod.UID] = err.Error()
		if s.told[pod.UID] != err.Error() {
			s.options.Log.Warn("a pod's engine is not asked", "pod", r.Name, "error", err)
		}
	}
	for _, e := range endpoints {
		key := keyOf(r, e.url)
		at, wrong := s.foreign[key]
		if wrong {
			found.foreign[key] = at
		}
		serves = serves || !wrong
		if wrong && found.now.Sub(at) < foreignFor {
			continue
		}
		s.guesses[key] = e.guessed
		found.targets = append(found.targets, collect.Target{Replica: r, URL: e.url, Dialect: e.dialect, Alive: alive(pod)})
	}
	return serves
}
