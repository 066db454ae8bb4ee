package serving

import (
	"context"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

// A worker that tells of itself before its engine does is a job until then.
func TestWrongGuess(t *testing.T) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	if err := store.Add(pod("10.0.0.1", map[string]string{prometheusScrape: "true", prometheusPort: "9"})); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Period: time.Second, Deadline: time.Second, Dialects: dialects(t), Log: slog.New(slog.DiscardHandler),
		Grants: func(context.Context) ([]pods.Grant, error) {
			return []pods.Grant{{Pod: types.NamespacedName{Namespace: "ns", Name: "pod"}, GPUs: []string{"GPU-0"}}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	s.pods = store
	if !s.grants.look(t.Context()) {
		t.Fatal("no grants")
	}
	now := time.Now()
	for _, step := range []struct {
		when   string
		ask    bool // the endpoint is asked
		job    bool
		at     time.Time
		says   serving.Answer
		kept   bool
		before func()
	}{
		{when: "refused", ask: true, at: now, says: serving.Refused, kept: true},
		{when: "no engine", ask: true, at: now, says: serving.Foreign},
		{when: "left alone", job: true},
		{when: "asked again", ask: true, job: true, at: now, says: serving.Failed, before: s.age},
		{when: "and again", ask: true, job: true, at: now, says: serving.Answered, kept: true},
		{when: "a replica", ask: true, at: now, says: serving.Silent, kept: true},
	} {
		if step.before != nil {
			step.before()
		}
		targets := s.targets()
		if len(targets) != boolean(step.ask) || len(s.jobs) != boolean(step.job) {
			t.Errorf("%s: targets %v, jobs %v", step.when, targets, s.jobs)
		}
		if len(targets) == 0 {
			continue
		}
		list := s.keep([]serving.Scrape{{Replica: targets[0].Replica, Endpoint: targets[0].URL, At: step.at, Answer: step.says}})
		if len(list) != boolean(step.kept) {
			t.Errorf("%s: kept %v", step.when, list)
		}
	}
}

// age makes every wrong guess one of long ago.
func (s *Serving) age() {
	for key := range s.foreign {
		s.foreign[key] = s.foreign[key].Add(-foreignFor)
	}
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

func TestSlim(t *testing.T) {
	whole := pod("10.0.0.1", map[string]string{AnnotationPort: "1", "kubectl.kubernetes.io/last-applied-configuration": "{}"})
	whole.Spec.Volumes = []corev1.Volume{{Name: "v"}}
	whole.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}
	object, err := slim(whole)
	kept, ok := object.(*corev1.Pod)
	if err != nil || !ok {
		t.Fatal(object, err)
	}
	if len(kept.Annotations) != 1 || kept.Spec.Volumes != nil || kept.Spec.Containers[1].Env != nil {
		t.Errorf("kept %+v", kept)
	}
	if kept.Name != "pod" || kept.UID != "uid" || kept.Status.PodIP != "10.0.0.1" || kept.Spec.Containers[1].Ports[0].Name != "metrics" {
		t.Errorf("not kept: %+v", kept)
	}
}
