package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

func TestGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := types.NamespacedName{Namespace: "ns", Name: "pod"}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1"}}
		var log bytes.Buffer
		var asked []string
		began := time.Now()
		g := newGrants(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Grants: func(context.Context) ([]pods.Grant, error) {
			asked = append(asked, time.Since(began).String())
			switch len(asked) {
			case 1, 2:
				return nil, errors.New("no list today")
			case 3:
				return []pods.Grant{{Pod: name, Unknown: []string{"GPU-0"}}}, nil
			case 6:
				return nil, errors.New("no list now")
			}
			return []pods.Grant{{Pod: name, GPUs: []string{fmt.Sprint("GPU-", len(asked))}}}, nil
		}})
		ctx, stop := context.WithCancel(t.Context())
		go g.run(ctx)
		time.Sleep(time.Minute)
		if len(asked) > 0 {
			t.Errorf("asked at %v, and nothing has changed", asked)
		}
		began = time.Now()
		g.changed()
		time.Sleep(35 * time.Second) // fails, fails, knows no GPU, answers
		<-g.answered
		if got := g.of(pod); len(got) != 1 || got[0] != "GPU-4" {
			t.Errorf("got %v", got)
		}
		for range 100 {
			g.changed()
		}
		time.Sleep(time.Second)
		g.changed()
		time.Sleep(time.Minute) // answers, fails, answers
		if got := g.of(pod); len(got) != 1 || got[0] != "GPU-7" {
			t.Errorf("got %v", got)
		}
		if got := strings.Join(asked, " "); got != "0s 3s 6s 9s 35s 38s 48s" {
			t.Errorf("asked at %s", got)
		}
		if n := strings.Count(log.String(), "no list today"); n != 1 || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("the log:\n%s", log.String())
		}
		stop()
		synctest.Wait()
	})
}

// A kubelet that has just started does not know all pods: what is still there keeps what
// it was given, for a minute, and the kubelet is asked again. Another of the name does not
// come into it.
func TestGrantsThatTheKubeletLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := types.NamespacedName{Namespace: "ns", Name: "pod"}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1"}}
		another := pod.DeepCopy()
		another.UID = "2"
		all := []pods.Grant{{Pod: name, GPUs: []string{"GPU-0"}}}
		answer := all
		g := newGrants(Options{Log: slog.New(slog.DiscardHandler), Grants: func(context.Context) ([]pods.Grant, error) { return answer, nil }})
		ctx, stop := context.WithCancel(t.Context())
		go g.run(ctx)
		is := func(when string, after time.Duration, pod *corev1.Pod, want ...string) {
			t.Helper()
			time.Sleep(after)
			if got := g.of(pod); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		g.changed()
		is("at first", 5*time.Second, pod, "GPU-0")
		answer = nil
		g.changed()
		is("lacking", 50*time.Second, pod, "GPU-0")
		is("another of its name", 0, another)
		answer = all
		is("there again, without any change", 10*time.Second, pod, "GPU-0")
		is("then still", time.Hour, pod, "GPU-0")
		answer = nil
		g.changed()
		is("lacking anew", 50*time.Second, pod, "GPU-0")
		is("lacking for long", 30*time.Second, pod)
		answer = all
		g.changed()
		is("another, told of", 5*time.Second, another, "GPU-0")
		stop()
		synctest.Wait()
	})
}
