package serving

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

const (
	// followEvery is how often it is looked whose time to end is over.
	followEvery = 5 * time.Second
	// followPause is how long a change waits for others: a pod that is replaced makes
	// several, and who has evicted it is to see first that it is gone.
	followPause = time.Second
)

// Follow follows the groups of disaggregated serving that the node takes part in, until
// ctx ends, and calls out from one goroutine with all of them, whenever one has changed:
// the prefill workers of the groups that have a decode worker here, and the other way
// round. Nobody else's pods are watched. It waits for Run, but where no groups are
// followed says so at once; of the pods of the node it still sees what they say. Before are
// the groups as they were known last, by an agent before this one.
func (s *Serving) Follow(ctx context.Context, before []serving.Group, out func(serving.Company)) error {
	if s.options.Config == nil || s.options.Disaggregated == nil {
		out(serving.Company{Off: true})
	}
	if s.options.Config == nil {
		return nil
	}
	client, err := apiserver.New(s.options.Config, s.options.Observe)
	if err != nil {
		return err
	}
	select {
	case <-s.listed:
	case <-ctx.Done():
		return nil
	}
	f := &follower{Serving: s, client: client.Core, watches: map[peerKey]*peerWatch{}, known: knownBefore(before)}
	defer f.stop()
	var last serving.Company
	for first := true; ; {
		if company := f.company(ctx, time.Now()); first || !reflect.DeepEqual(company, last) {
			out(company)
			last, first = company, false
		}
		next := time.After(followEvery)
		select {
		case <-ctx.Done():
			return nil
		case <-next:
			continue
		case <-s.moved:
			next = time.After(followPause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-next:
		}
	}
}

// peerKey names one watch.
type peerKey struct {
	namespace, selector string
	role                serving.Role
}

// String names it in words.
func (k peerKey) String() string {
	return fmt.Sprintf("the %s workers of %s with %s", k.role, k.namespace, k.selector)
}

// peerWatch is one that goes on.
type peerWatch struct {
	*podWatch
	stop func()
}

// follower has the watches that are needed at the moment.
type follower struct {
	*Serving
	client  *rest.RESTClient
	watches map[peerKey]*peerWatch
	known   map[membership]map[types.UID]types.NamespacedName
	going   sync.WaitGroup
}

func (f *follower) stop() {
	for _, w := range f.watches {
		w.stop()
	}
	f.going.Wait()
}

// company puts together what is known now, and begins and ends watches with those who
// need them.
func (f *follower) company(ctx context.Context, now time.Time) serving.Company {
	c := serving.Company{Off: f.options.Disaggregated == nil}
	byName, needed := map[string]*serving.Group{}, map[peerKey]string{}
	for _, pod := range f.running() {
		gpus := f.grants.of(pod)
		place, takesPart := f.options.placeOf(pod)
		if len(gpus) == 0 || !takesPart {
			c.Strays = append(c.Strays, stray(pod)...)
			continue
		}
		g := byName[place.group]
		if g == nil {
			g = &serving.Group{Name: place.group, Peers: map[serving.Role][]serving.Worker{}}
			byName[place.group] = g
		}
		g.Here = append(g.Here, f.options.worker(pod, place, gpus, now))
		other := place.role.Other()
		needed[peerKey{place.namespace, f.options.selector(place, other), other}] = place.group
	}
	f.watch(ctx, needed)
	f.fill(byName, needed, now)
	f.findAside(ctx, byName, now)
	for _, g := range byName {
		c.Groups = append(c.Groups, *g)
	}
	slices.SortFunc(c.Groups, func(a, b serving.Group) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

// stray is a pod in no group that says what one says that was left by a peer; none where
// it does not.
func stray(pod *corev1.Pod) []serving.Worker {
	w := serving.Worker{Name: pod.Namespace + "/" + pod.Name, UID: string(pod.UID), Marked: pod.Annotations[pods.AnnotationStale], Degraded: saysLeft(pod)}
	if w.Marked == "" && !w.Degraded {
		return nil
	}
	return []serving.Worker{w}
}

// fill adds the peers. Those of a role are known once every watch for them has its
// first list.
func (f *follower) fill(byName map[string]*serving.Group, needed map[peerKey]string, now time.Time) {
	unknown := map[*serving.Group]map[serving.Role]bool{}
	for key, name := range needed {
		g, w := byName[name], f.watches[key]
		if !w.synced() {
			if unknown[g] == nil {
				unknown[g] = map[serving.Role]bool{}
			}
			unknown[g][key.role] = true
			continue
		}
		all := g.Peers[key.role]
		if all == nil {
			all = []serving.Worker{}
		}
		for _, object := range w.List() {
			if pod, ok := object.(*corev1.Pod); ok {
				all = append(all, peer(pod, key.role, now))
			}
		}
		g.Peers[key.role] = sorted(all)
	}
	for g, roles := range unknown {
		for role := range roles {
			delete(g.Peers, role)
		}
	}
}

// sorted are workers by name, each once.
func sorted(all []serving.Worker) []serving.Worker {
	slices.SortFunc(all, func(a, b serving.Worker) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) })
	return slices.CompactFunc(all, func(a, b serving.Worker) bool { return a.UID == b.UID })
}

// watch ends the watches that nobody needs, and begins those that are missing.
func (f *follower) watch(ctx context.Context, needed map[peerKey]string) {
	for key, w := range f.watches {
		if _, still := needed[key]; !still {
			w.stop()
			f.troubles.over(key.String())
			delete(f.watches, key)
		}
	}
	for key := range needed {
		if f.watches[key] == nil {
			f.watches[key] = f.begin(ctx, key)
		}
	}
}

// begin begins one watch, by label selector in one namespace.
func (f *follower) begin(ctx context.Context, key peerKey) *peerWatch {
	only := func(o *metav1.ListOptions) { o.LabelSelector = key.selector }
	w := f.newWatch(f.client, follows{key.String(), key.namespace, only}, f.changed)
	ctx, stop := context.WithCancel(ctx)
	f.going.Go(func() { w.run(ctx) })
	return &peerWatch{podWatch: w, stop: stop}
}

// changed has the groups looked at.
func (s *Serving) changed() {
	select {
	case s.moved <- struct{}{}:
	default: // they will be
	}
}

// Peers says how the decode workers are found that a pod of this node takes turns
// with; false where it is no decode worker of a group.
func (s *Serving) Peers(uid string) (namespace, selector string, found bool) {
	select {
	case <-s.listed:
	default:
		return "", "", false
	}
	for _, object := range s.pods.List() {
		pod, ok := object.(*corev1.Pod)
		if !ok || string(pod.UID) != uid {
			continue
		}
		p, takesPart := s.options.placeOf(pod)
		if !takesPart || p.role != serving.Decode {
			return "", "", false
		}
		return p.namespace, s.options.selector(p, p.role), true
	}
	return "", "", false
}
