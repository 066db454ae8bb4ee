package agent

import (
	"context"
	"log/slog"
	"reflect"
	"sync"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// rotator lets replicas have requests or not, as the core wants it last.
type rotator struct {
	worker
	log      *slog.Logger
	rotation Rotation
	// trouble is what the log has been told.
	trouble string

	mu     sync.Mutex
	wanted []serving.Stand
	looks  int
}

func newRotator(opts Options) *rotator {
	r := &rotator{log: opts.Log, rotation: opts.Rotation}
	r.worker = newWorker(r.settle)
	return r
}

// want takes how replicas shall stand. It is seen to where that has changed, and after
// each look at them: others may have changed what they say.
func (r *rotator) want(stands []serving.Stand, looks int) {
	r.mu.Lock()
	news := r.looks != looks || !reflect.DeepEqual(r.wanted, stands)
	r.wanted, r.looks = stands, looks
	r.mu.Unlock()
	if news && r.rotation != nil {
		r.poke()
	}
}

func (r *rotator) newest() []serving.Stand {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

func (r *rotator) settle(ctx context.Context) bool {
	try, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	err := r.rotation.Settle(try, r.newest())
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != r.trouble {
		r.log.Error("replicas do not stand as they should", "error", err)
	}
	r.trouble = text
	return err == nil
}
