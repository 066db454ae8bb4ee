package check

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
)

const (
	// look is the time between two looks at what the agent has by now.
	look = 20 * time.Millisecond
	// calm is how long the kernel log must not have grown to count as read.
	calm = 40 * time.Millisecond
	// polls is how often the driver is asked, at once: for some faults the judge wants
	// to see them twice.
	polls = 2
)

// Unseen is the error that a source could not be asked to its end: Driver or KernelLog.
type Unseen struct{ Check, Why string }

// Error implements error.
func (u Unseen) Error() string { return u.Check + ": " + u.Why }

// Once runs an agent until it has read the kernel log of this boot and the driver
// has answered, or is known not to. The options must be those of an agent that
// changes nothing. When ctx is done before, the error is an Unseen with what was waited
// for. A driver child that is stuck in the kernel is left behind.
func Once(ctx context.Context, opts agent.Options) (agent.Status, error) {
	asker := &asker{Driver: opts.Driver, read: make(chan struct{})}
	if opts.Driver != nil {
		opts.Driver = asker
	}
	a, err := agent.New(opts)
	if err != nil { // it begins with the kernel log
		return agent.Status{}, Unseen{KernelLog, err.Error()}
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	start := a.Status().KernelLog
	go func() {
		_ = a.Run(running) // why it ends has no say in what was found
		close(ended)
	}()
	s, err := asker.follow(ctx, a, start)
	stop()
	select {
	case <-ended:
	case <-time.After(leave):
	}
	return s, err
}

// leave is how long an agent that is not needed any more may take to end its child.
const leave = 300 * time.Millisecond

// asker is a driver that is asked once the kernel log has been read: what is
// history then, the driver's first word confirms or not.
type asker struct {
	agent.Driver
	read chan struct{}
	hung atomic.Pointer[nvml.Hung]
}

// Run waits for the kernel log, and then is the driver.
func (d *asker) Run(ctx context.Context, out func(nvml.Report)) error {
	select {
	case <-ctx.Done():
		return nil
	case <-d.read:
	}
	return d.Driver.Run(ctx, func(r nvml.Report) {
		// One that hangs on a GPU is among those of the poll that follows.
		if r.Kind == nvml.KindHung && r.Hung.Index == nil {
			d.hung.Store(r.Hung)
		}
		out(r)
	})
}

// follow looks at the agent until it knows what a check has to know.
func (d *asker) follow(ctx context.Context, a *agent.Agent, start kernlog.Hearing) (agent.Status, error) {
	log := reading{start: start, since: time.Now()}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		s := a.Status()
		if log.over(time.Now(), s.KernelLog) {
			if !log.told {
				log.told = true
				close(d.read)
			}
			if !s.Driver.Enabled || s.Driver.Polls >= polls || s.Driver.Blind != "" {
				return s, nil
			}
			if s.Driver.Polls > 0 {
				d.Poll()
			}
		}
		if h := d.hung.Load(); h != nil && s.Driver.Polls == 0 {
			s.Driver.Blind = h.Child
			if h.Child == "" {
				s.Driver.Blind = h.Call + " does not return"
			}
			return s, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if !log.told {
				return s, Unseen{KernelLog, "was not read to its end in time"}
			}
			return s, Unseen{Driver, "has not answered in time"}
		}
	}
}

// reading knows when the log of this boot has been read.
type reading struct {
	start kernlog.Hearing
	last  uint64
	since time.Time // when it last grew, or a source was still to be opened
	told  bool
}

// over says whether nothing more has come for a moment, from sources that were all
// opened, or could not be.
func (r *reading) over(now time.Time, h kernlog.Hearing) bool {
	n := count(h.Kmsg) + count(h.Journal)
	if n != r.last || pending(h.Kmsg, r.start.Kmsg) || pending(h.Journal, r.start.Journal) {
		r.last, r.since = n, now
	}
	return r.told || now.Sub(r.since) >= calm
}

func count(s *kernlog.State) uint64 {
	if s == nil {
		return 0
	}
	return s.Read + s.Garbled
}

// pending says whether a source has not been tried yet.
func pending(now, start *kernlog.State) bool {
	return now != nil && now.Deaf != "" && now.Deaf == start.Deaf
}
