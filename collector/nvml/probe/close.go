package probe

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// close shuts the library down. While a call keeps it from that it says so each
// period and goes on trying: the library cannot be used again before. When ctx is
// done it does nothing: the process is about to end, which closes all.
func (p *probe) close(ctx context.Context) error {
	var t track
	_, err := p.await(ctx, func() { p.letGo(&t) }, func(now time.Time) error {
		return nvml.ClosedReport(nvml.Closed{Stuck: p.oldest(&t, now)}).Write(p.out)
	})
	return err
}

func (p *probe) busy() bool {
	for _, g := range p.gpus {
		if g.busy {
			return true
		}
	}
	return false
}

// letGo ends all that uses the library, and then the library.
func (p *probe) letGo(t *track) {
	p.events.stop()
	for p.busy() {
		p.take(<-p.answers)
	}
	for _, g := range p.gpus {
		g.gpm.free()
	}
	t.enter(newCall("nvmlShutdown"))
	_ = p.lib.Shutdown() // all there is to do, whatever it says
	t.leave()
}

// oldest names the call that has been under way for longest; between two calls
// it is the one that all is about.
func (p *probe) oldest(t *track, now time.Time) string {
	found := call{name: "nvmlShutdown", since: now}
	tracks := []*track{t, &p.events.track}
	for _, g := range p.gpus {
		tracks = append(tracks, &g.track)
	}
	for _, t := range tracks {
		if c := t.current(); c.age(now) > found.age(now) {
			found = c
		}
	}
	return found.name
}

// rest says each period that the library is closed, until it is to be opened or
// ctx is done.
func (p *probe) rest(ctx context.Context) error {
	tick := time.NewTicker(p.cfg.Period)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, closed := p.wishes.take(); !closed {
			return nil
		}
		if err := nvml.ClosedReport(nvml.Closed{Open: openDevices()}).Write(p.out); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-p.wishes.changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// openDevices lists the driver's device files that this process has open. With a
// driver in a container they lie below its root.
func openDevices() (list []string) {
	const own = "/proc/self/fd"
	entries, _ := os.ReadDir(own) // without /proc nothing can be said
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(own, e.Name()))
		if err == nil && strings.Contains(target, "/dev/nvidia") {
			list = append(list, target)
		}
	}
	return list
}
