package serving

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
	"github.com/gpuhealthd/gpuhealthd/serving"
)

func TestPlace(t *testing.T) {
	o := Options{Roles: roleLabels, Groups: groupLabels, RoleWords: roleWords(), Disaggregated: &Disaggregated{}}
	tests := []struct {
		name, want string
		labels     map[string]string
	}{
		{"alone", "", nil},
		{"no group", "", map[string]string{"llm-d.ai/role": "decode"}},
		{"all of it", "", map[string]string{"llm-d.ai/role": "both", "llm-d.ai/model": "m"}},
		{"llm-d", "ns/m decode by llm-d.ai/model in (m),llm-d.ai/role in (prefill)", map[string]string{"llm-d.ai/role": "decode", "llm-d.ai/model": "m"}},
		{"Dynamo", "ns/g prefill by nvidia.com/dynamo-graph-deployment-name in (g),nvidia.com/dynamo-sub-component-type in (decode)",
			map[string]string{"nvidia.com/dynamo-component-type": "worker", "nvidia.com/dynamo-sub-component-type": "prefill", "nvidia.com/dynamo-graph-deployment-name": "g"}},
		{"LeaderWorkerSet", "ns/k decode by leaderworkerset.sigs.k8s.io/group-key in (k),llm-d.ai/role in (prefill)",
			map[string]string{"llm-d.ai/role": "decode", "leaderworkerset.sigs.k8s.io/group-key": "k"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if p, ok := o.placeOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Labels: test.labels}}); ok {
				got = p.group + " " + string(p.role) + " by " + o.selector(p, p.role.Other())
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestEngineLife: what runs beside an engine may be started anew at any time.
func TestEngineLife(t *testing.T) {
	now := time.Now()
	engine := corev1.Container{Name: "engine", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": quantity.MustParse("1")}}}
	claimed := corev1.Container{Name: "engine", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}
	runs, beside := container("engine", "containerd://abc", 1, true), container("proxy", "containerd://def", 7, false)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	tests := []struct {
		name, want string
		of         corev1.Container
		status     []corev1.ContainerStatus
		phase      corev1.PodPhase
		deleted    *metav1.Time
		unheard    bool
	}{
		{name: "not started", of: engine},
		{name: "it runs", of: engine, status: []corev1.ContainerStatus{runs, beside}, want: "engine:1:abc"},
		{name: "it runs by a claim", of: claimed, status: []corev1.ContainerStatus{runs, beside}, want: "engine:1:abc"},
		{name: "who has the GPU is not known", of: corev1.Container{Name: "engine"}, status: []corev1.ContainerStatus{runs, beside}},
		{name: "it has ended", of: engine, status: []corev1.ContainerStatus{container("engine", "containerd://abc", 1, false)}},
		{name: "the pod has failed", of: engine, status: []corev1.ContainerStatus{runs}, phase: corev1.PodFailed},
		{name: "it is to end", of: engine, status: []corev1.ContainerStatus{runs}, deleted: ago(-30 * time.Second), want: "engine:1:abc"},
		{name: "nothing is heard of it", of: engine, phase: corev1.PodRunning, unheard: true},
		{name: "what runs beside it is heard of", of: engine, status: []corev1.ContainerStatus{beside}, phase: corev1.PodRunning, unheard: true},
		{name: "it waits", of: engine, phase: corev1.PodPending},
		{name: "its node was lost", of: engine, status: []corev1.ContainerStatus{runs}, deleted: ago(time.Minute)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: test.deleted}}
			pod.Spec.Containers = []corev1.Container{test.of, {Name: "proxy"}}
			pod.Status.Phase, pod.Status.ContainerStatuses = test.phase, test.status
			if got, heard := engineLife(pod, now); got != test.want || heard == test.unheard {
				t.Errorf("got %q, %t, want %q", got, heard, test.want)
			}
		})
	}
}

// TestUnready: who is replaced is waited for, and not who has ended for good.
func TestUnready(t *testing.T) {
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	now := time.Now()
	going, gone := metav1.NewTime(now.Add(-5*time.Second)), metav1.NewTime(now.Add(-time.Minute))
	for name, c := range map[string]struct {
		of   corev1.Pod
		want bool
	}{
		"ready":              {corev1.Pod{Status: corev1.PodStatus{Conditions: ready}}, false},
		"not told":           {corev1.Pod{}, true},
		"not ready":          {corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}}, true},
		"ending":             {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &going}, Status: corev1.PodStatus{Conditions: ready}}, true},
		"lost with its node": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &gone}, Status: corev1.PodStatus{Conditions: ready}}, false},
		"over":               {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, false},
		"over, ending":       {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &gone}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, false},
	} {
		kept, err := slim(&c.of)
		if err != nil {
			t.Fatal(err)
		}
		if w := peer(kept.(*corev1.Pod), serving.Prefill, now); w.Unready != c.want {
			t.Errorf("%s: unready %t", name, w.Unready)
		}
	}
}

func TestWorker(t *testing.T) {
	o := Options{Roles: roleLabels, Groups: groupLabels, RoleWords: roleWords(), Disaggregated: &Disaggregated{}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Annotations: map[string]string{pods.AnnotationStale: "since"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "engine", Image: "vllm/vllm-openai:v0.22.1", Args: []string{kvFlag, `{"kv_load_failure_policy":"fail"}`}}, {Name: "proxy"}}
	p := place{role: serving.Prefill}
	if w := o.worker(pod, p, []string{"GPU-0"}, time.Now()); w.Lease != 8*time.Minute || w.OnFailure != "fail" || w.Marked != "since" || w.Name != "ns/p" || len(w.GPUs) != 1 {
		t.Errorf("where nobody says which container is the engine: %+v", w)
	}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	if w := o.worker(pod, p, nil, time.Now()); w.Lease != 30*time.Second {
		t.Errorf("its engine: %+v", w)
	}
	o.Disaggregated.Lease = time.Minute
	if w := o.worker(pod, p, nil, time.Now()); w.Lease != time.Minute {
		t.Errorf("the site says it: %+v", w)
	}
}
