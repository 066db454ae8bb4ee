package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// bootLog is the kernel log of one boot. It can be read by one agent after
// another, each from its own place.
type bootLog struct {
	mu      sync.Mutex
	boot    string
	records []kernlog.Record
	more    chan struct{}
	deaf    kernlog.Hearing
}

func newBootLog(boot string) *bootLog { return &bootLog{boot: boot, more: make(chan struct{})} }

// say appends lines, and hands those over together to whoever reads.
func (l *bootLog) say(texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		l.records = append(l.records, kernlog.Record{Text: []byte(text),
			Position: kernlog.Position{BootID: l.boot, Sequence: uint64(len(l.records))}})
	}
	close(l.more)
	l.more = make(chan struct{})
}

// reboot begins an empty log.
func (l *bootLog) reboot(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.boot, l.records = id, nil
}

// after gives the records behind a position, and what is closed when there are
// others.
func (l *bootLog) after(p kernlog.Position) ([]kernlog.Record, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := 0
	if p.BootID == l.boot {
		from = int(p.Sequence) + 1
	}
	return l.records[min(from, len(l.records)):], l.more
}

// reading is one agent's way through a bootLog.
type reading struct {
	log      *bootLog
	position kernlog.Position
}

func (r *reading) Run(ctx context.Context, handle func(kernlog.Batch) error) error {
	for {
		batch, more := r.log.after(r.position)
		if len(batch) > 0 {
			r.position = batch[len(batch)-1].Position
			if err := handle(kernlog.Batch{Records: batch, Mark: kernlog.Bookmark{Kmsg: r.position}}); err != nil {
				return err
			}
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *reading) Hearing() kernlog.Hearing {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.log.deaf
}

// driver hands on what a test reports.
type driver struct {
	reports chan nvml.Report
	polls   atomic.Int64
	// restarts counts how often another child was asked for.
	restarts atomic.Int64
}

func (d *driver) Run(ctx context.Context, out func(nvml.Report)) error {
	for {
		select {
		case r := <-d.reports:
			out(r)
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *driver) Poll() { d.polls.Add(1) }

func (d *driver) Restart() { d.restarts.Add(1) }
