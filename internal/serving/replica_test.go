package serving

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

func container(name, id string, restarts int32, runs bool) corev1.ContainerStatus {
	c := corev1.ContainerStatus{Name: name, ContainerID: id, RestartCount: restarts}
	if runs {
		c.State.Running = &corev1.ContainerStateRunning{}
	}
	return c
}

func TestReplica(t *testing.T) {
	o := Options{Roles: roleLabels, Groups: groupLabels, RoleWords: map[serving.Role][]string{serving.Decode: {"decode", "generation"}}}
	tests := []struct {
		name        string
		labels      map[string]string
		role, group string
	}{
		{name: "alone"},
		{name: "llm-d", labels: map[string]string{"llm-d.ai/role": "decode", "llm-d.ai/model": "m"}, role: "decode", group: "ns/m"},
		{name: "llm-d, all of it", labels: map[string]string{"llm-d.ai/role": "both"}},
		{name: "Dynamo", labels: map[string]string{"nvidia.com/dynamo-component-type": "worker", "nvidia.com/dynamo-sub-component-type": "prefill",
			"nvidia.com/dynamo-graph-deployment-name": "g"}, role: "prefill", group: "ns/g"},
		{name: "Dynamo, all of it", labels: map[string]string{"nvidia.com/dynamo-component-type": "worker"}},
		{name: "the site's own word", labels: map[string]string{"llm-d.ai/role": "generation"}, role: "decode"},
		{name: "a part of its own", labels: map[string]string{"llm-d.ai/role": "encode"}, role: "encode"},
		{name: "LeaderWorkerSet", labels: map[string]string{"leaderworkerset.sigs.k8s.io/group-key": "k"}, group: "ns/k"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := pod("10.0.0.1", nil)
			p.Labels = test.labels
			p.Status.ContainerStatuses = []corev1.ContainerStatus{container("b", "containerd://0123456789abcdef", 2, true), container("a", "", 0, false)}
			want := serving.Replica{Name: "ns/pod", UID: "uid", Life: "a:0: b:2:0123456789ab", Role: test.role, Group: test.group, GPUs: []string{"GPU-0"}}
			if diff := cmp.Diff(want, o.replica(p, []string{"GPU-0"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAlive(t *testing.T) {
	yes, no := new(true), new(false)
	runs, ended := container("a", "", 0, true), container("b", "", 0, false)
	for _, test := range []struct {
		of   []corev1.ContainerStatus
		want *bool
	}{
		{nil, nil}, {[]corev1.ContainerStatus{runs, runs}, yes}, {[]corev1.ContainerStatus{ended}, no}, {[]corev1.ContainerStatus{runs, ended}, nil},
	} {
		p := pod("10.0.0.1", nil)
		p.Status.ContainerStatuses = test.of
		if got := alive(p); !cmp.Equal(got, test.want) {
			t.Errorf("%v: got %v, want %v", test.of, got, test.want)
		}
	}
}
