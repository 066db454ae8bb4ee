package agent

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// applier brings the Node to what the plan wants, the newest wish only.
type applier struct {
	worker
	log     *complaint
	act     Actuator
	core    *core
	metrics *Metrics

	mu     sync.Mutex
	wanted *remediate.Desired
}

func newApplier(opts Options, c *core) *applier {
	a := &applier{log: &complaint{log: opts.Log}, act: opts.Actuator, core: c, metrics: opts.Metrics}
	a.worker = newWorker(a.apply)
	return a
}

// want takes the newest wish. A wish that is the old one wakes nobody.
func (a *applier) want(d remediate.Desired) {
	a.mu.Lock()
	news := a.wanted == nil || !reflect.DeepEqual(*a.wanted, d)
	a.wanted = &d
	a.mu.Unlock()
	if news {
		a.poke()
	}
}

func (a *applier) newest() *remediate.Desired {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wanted
}

func (a *applier) apply(ctx context.Context) bool {
	want := a.newest()
	if want == nil {
		return true
	}
	try, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	seen, err := a.act.Apply(try, *want)
	a.metrics.applied(err)
	a.log.hear(time.Now(), err)
	if err != nil {
		a.core.trouble.Store(&Trouble{Error: err.Error(), At: time.Now()})
		if errors.Is(err, remediate.ErrForbidden) {
			a.core.tell(ctx, refused{err.Error()})
		}
		return false
	}
	a.core.trouble.Store(nil)
	a.core.tell(ctx, nodeSeen{seen})
	return true
}
