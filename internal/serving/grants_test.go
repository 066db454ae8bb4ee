package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate/pods"
)

func TestGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := types.NamespacedName{Namespace: "ns", Name: "pod"}
		var log bytes.Buffer
		var asked []string
		began := time.Now()
		g := newGrants(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Grants: func(context.Context) ([]pods.Grant, error) {
			asked = append(asked, time.Since(began).String())
			switch len(asked) {
			case 1, 2:
				return nil, errors.New("no list today")
			case 3:
				return []pods.Grant{{Pod: pod, Unknown: []string{"GPU-0"}}}, nil
			case 6:
				return nil, errors.New("no list now")
			}
			return []pods.Grant{{Pod: pod, GPUs: []string{fmt.Sprint("GPU-", len(asked))}}}, nil
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
