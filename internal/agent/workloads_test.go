package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// TestWorkloadsAreToldWithTheSummary: a tray says which workloads were on it when its
// links failed, and the event of the domain has those of all trays.
func TestWorkloadsAreToldWithTheSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[[]string]
		now.Store(&[]string{"team/train"})
		looks := 0
		s, mates := newStage(t), &rackmates{}
		s.adjust = func(o *Options) {
			o.Judge.Correlate = fault.DefaultCorrelate
			o.Neighbours = mates
			o.Workloads = func(context.Context) ([]string, error) {
				looks++
				if names := now.Load(); names != nil {
					return *names, nil
				}
				return nil, errors.New("the kubelet does not answer")
			}
		}
		s.start()
		if looks != 0 {
			t.Errorf("%d looks before the node is known to be in a domain", looks)
		}
		s.polls(2, tray)
		if _, d := s.world.state(); looks != 1 || d.Summary != "" {
			t.Errorf("%d looks; a healthy tray says %q", looks, d.Summary)
		}
		for gpu := range gpus {
			s.log.say(xid(gpu, linkWentDown))
		}
		synctest.Wait()
		now.Store(&[]string{}) // killed by it
		s.polls(14, tray)
		if _, d := s.world.state(); looks != 2 || !strings.Contains(d.Summary, `"work":["team/train"]`) {
			t.Errorf("%d looks; says %q", looks, d.Summary)
		}
		now.Store(nil)
		mates.say(remediate.Neighbour{Node: "node-2", Summary: `{"down":[9],"work":["serve/llm","team/train"],"moreWork":2}`},
			remediate.Neighbour{Node: "node-3", Summary: `{"down":[9]}`}, remediate.Neighbour{Node: "node-4"})
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		told := slices.DeleteFunc(s.world.events, func(e remediate.Event) bool { return e.Reason != "NVLinkDomainFault" })
		want := "Trays: node-1, node-2, node-3. Workloads on them: serve/llm, team/train and 2 more."
		if len(told) != 1 || !strings.HasSuffix(told[0].Message, want) {
			t.Errorf("told %+v, want %q", told, want)
		}
		if s.core.noWork == "" || len(s.core.work) != 1 {
			t.Errorf("a kubelet that is away: %q, knows %q", s.core.noWork, s.core.work)
		}
		s.stop()
	})
}
