package serving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/gpuhealthd/gpuhealthd/collector/canary"
	collect "github.com/gpuhealthd/gpuhealthd/collector/serving"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// Serving knows who serves, and what they have said. Run may be called once; Load,
// Entrants, Unfound, Canaries and Settle from any goroutine.
type Serving struct {
	options Options
	scraper *collect.Scraper
	local   *local
	grants  *grants
	// troubles are those with the watches.
	troubles *troubles
	pods     cache.Store // nil until the first list of pods is there
	// listed is closed once they are, and who was given what is known; moved has the
	// groups of disaggregated serving looked at.
	listed, moved chan struct{}

	// Of the goroutine that Run calls out from.
	jobs    []serving.Job
	guesses map[string]bool      // endpoints that nobody has named, of this round
	foreign map[string]time.Time // those of them at which there was no engine, and when
	told    map[types.UID]string // what the log has been told of a pod
	lives   map[types.UID]seenLife
	spoken  map[string]string // dialects by endpoint
	asked   time.Time         // when the kubelet was asked again for what it lacks

	mu       sync.Mutex
	last     []serving.Scrape
	entrants []serving.Entrant
	askable  []canary.Target
	unfound  []Unfound
	// endpoints are how many each pod of the node has at which an engine may be, by UID;
	// nil before the first look.
	endpoints map[string]int
}

// New asks nobody anything.
func New(o Options) (*Serving, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Serving{options: o, local: newLocal(o), grants: newGrants(o), troubles: newTroubles(o.Log), foreign: map[string]time.Time{},
		listed: make(chan struct{}), moved: make(chan struct{}, 1)}
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
		client, err := apiserver.New(s.options.Config, s.options.Observe)
		if err != nil {
			return fmt.Errorf("watch the pods of node %s: %w", s.options.Node, err)
		}
		here := fields.OneTermEqualSelector("spec.nodeName", s.options.Node).String()
		own := s.newWatch(client.Core, follows{"the pods of this node", metav1.NamespaceAll, func(o *metav1.ListOptions) { o.FieldSelector = here }}, func() {
			s.grants.changed()
			s.changed()
		})
		var following sync.WaitGroup
		defer following.Wait()
		following.Go(func() { own.run(ctx) })
		following.Go(func() { s.grants.run(ctx) })
		s.grants.changed() // on a node without any pod nothing else would ask
		select {
		case <-own.listed:
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
		s.pods = own
		s.mu.Unlock()
		if !s.granted(ctx) {
			return nil
		}
		close(s.listed)
	}
	s.scraper.Run(ctx, func(list []serving.Scrape) {
		list = s.keep(list)
		out(list, s.jobs)
	})
	return nil
}

// granted waits until it is known who was given what: before that, who serves would seem
// to be gone. So long, and no longer, the kubelet may lack a pod that asks for GPUs. It
// returns false at the end of ctx.
func (s *Serving) granted(ctx context.Context) bool {
	select {
	case <-s.grants.answered:
	case <-ctx.Done():
		return false
	}
	for began := time.Now(); s.lacking() && time.Since(began) < missedFor; {
		s.grants.changed()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// foreignFor is how long an endpoint that was a wrong guess is left alone. A worker
// may tell of itself before its engine is there to.
const foreignFor = time.Minute

// keep leaves out the answers of endpoints that were a guess, and a wrong one, and makes
// names fit to be shown.
func (s *Serving) keep(list []serving.Scrape) []serving.Scrape {
	kept := make([]serving.Scrape, 0, len(list))
	spoken := make(map[string]string, len(list))
	for _, scrape := range s.here(list) {
		key := keyOf(scrape.Replica, scrape.Endpoint)
		spoken[key] = cmp.Or(scrape.Dialect, s.spoken[key])
		scrape.Engines = clean(scrape.Engines)
		if !s.guessedWrong(scrape) {
			kept = append(kept, scrape)
		}
	}
	s.spoken = spoken
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = kept
	return kept
}

// here leaves out those whose pods have gone while they were asked: what their GPUs do
// now is another's doing.
func (s *Serving) here(list []serving.Scrape) []serving.Scrape {
	if s.pods == nil {
		return list
	}
	runs := map[string]bool{"": true} // the site's own
	for _, pod := range s.running() {
		runs[string(pod.UID)] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(scrape serving.Scrape) bool { return !runs[scrape.Replica.UID] })
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

// targets are the endpoints of the replicas as they are now; who is a job, and how all
// of them come to their trials, is found on the way.
func (s *Serving) targets() []collect.Target {
	s.jobs, s.guesses = nil, map[string]bool{}
	found := &search{now: time.Now(), foreign: map[string]time.Time{}, told: map[types.UID]string{}, endpoints: map[string]int{}}
	s.ofSite(found)
	if s.pods != nil {
		for _, object := range s.pods.List() {
			if pod, ok := object.(*corev1.Pod); ok {
				found.endpoints[string(pod.UID)] = 0
			}
		}
		all := s.running()
		s.relive(all)
		for _, pod := range all {
			s.ofPod(found, pod)
		}
	}
	if found.lacking {
		s.askAgain(found.now)
	}
	s.foreign, s.told = found.foreign, found.told
	s.mu.Lock()
	defer s.mu.Unlock()
	found.unfound = append(found.unfound, together(found.targets)...)
	s.entrants, s.askable, s.unfound, s.endpoints = found.entrants, found.askable, found.unfound, found.endpoints
	return found.targets
}

// running are the pods that have begun and will go on, sorted by name.
func (s *Serving) running() (all []*corev1.Pod) {
	for _, object := range s.pods.List() {
		if pod, ok := object.(*corev1.Pod); ok && !over(pod) && pod.Status.PodIP != "" {
			all = append(all, pod)
		}
	}
	slices.SortFunc(all, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
