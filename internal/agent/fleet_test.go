package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// replicas are what the serving engines of a stage say, once a period.
type replicas struct{ say func() []serving.Scrape }

// Troubles implements Replicas.
func (replicas) Troubles() []string { return nil }

func (r replicas) Run(ctx context.Context, out func([]serving.Scrape, []serving.Job)) error {
	for {
		out(r.say(), nil)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(period):
		}
	}
}

// TestTheFleetIsAskedOnceAMinute, while replicas are here. Why it does not answer is in the
// status.
func TestTheFleetIsAskedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, here := 0, false
		var refused error
		tenth := 0.1
		s := newStage(t)
		s.adjust = func(o *Options) {
			o.Replicas = replicas{func() []serving.Scrape {
				if !here {
					return nil
				}
				return []serving.Scrape{{Replica: serving.Replica{Name: "a"}, Endpoint: "http://a", At: time.Now(), Answer: serving.Answered}}
			}}
			o.Fleet = func(context.Context) (serving.Fleet, error) {
				asked++
				return serving.Fleet{"org/a": {PerToken: &tenth}}, refused
			}
		}
		s.start()
		s.polls(int(3 * time.Minute / period))
		if asked != 0 {
			t.Errorf("asked %d times for nobody", asked)
		}
		here = true
		s.polls(int(50 * time.Second / period))
		if got := s.Status().Serving; asked != 1 || got.Fleet != "" || len(got.Replicas) != 1 {
			t.Errorf("asked %d times; %+v", asked, got)
		}
		refused = errors.New("connection refused")
		s.polls(int(3 * time.Minute / period))
		if got := s.Status().Serving; asked != 4 || got.Fleet != "connection refused" {
			t.Errorf("asked %d times; %+v", asked, got)
		}
		s.stop()
	})
}
