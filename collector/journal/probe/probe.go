// Package probe is the child process that has the systemd journal open. It
// follows the journal of the running boot, writes what it reads as
// journal.Report lines, and answers requests for a stretch of it.
//
// It reads by directory and whatever machine id it finds there: in a container
// the id is another than the host's, and a journal opened by id would be empty
// and say nothing. It opens the directory anew after each rotation, since
// libsystemd has leaked the descriptors of rotated files, and looks for itself
// every second, since inotify says nothing over some mounts.
package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
)

// Config is which journals to read and what of them.
type Config struct {
	// Paths are directories as journald makes them, by preference: the first
	// that has entries of the boot is read.
	Paths []string
	// Kernel follows the kernel's records. Without it they are read on request.
	Kernel bool
	// Units are followed by their full names.
	Units []string
	// Kata follows the consoles of Kata guests.
	Kata bool
}

// Run serves until in ends or ctx is done, which is a clean end. It owns the
// process: a thread may still be waiting inside libsystemd when it returns.
func Run(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	if len(cfg.Paths) == 0 {
		return fmt.Errorf("probe journal: no path")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &probe{cfg: cfg, out: out, fills: make(chan journal.Span, 16)}
	ended := make(chan error, 3) // one place for each of them
	go func() { ended <- p.fillAll(ctx) }()
	go func() { ended <- p.serve(ctx, in, ended) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

type probe struct {
	cfg   Config
	fills chan journal.Span

	mu  sync.Mutex
	out io.Writer
}

// serve takes requests to the end of in.
func (p *probe) serve(ctx context.Context, in io.Reader, ended chan<- error) error {
	following := false
	for lines := bufio.NewScanner(in); lines.Scan(); {
		r, err := journal.ParseRequest(lines.Bytes())
		switch {
		case err != nil:
			return err
		case r.Fill != nil:
			select {
			case p.fills <- *r.Fill:
			case <-ctx.Done():
			}
		case following:
			return fmt.Errorf("probe journal: a second request to follow")
		default:
			following = true
			go func() { ended <- p.follow(ctx, *r.Follow) }()
		}
	}
	return nil
}

// say writes one report; two goroutines have something to say.
func (p *probe) say(r journal.Report) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.Write(p.out)
}

// journalBoot is a boot id as the journal spells it, without the kernel's dashes.
func journalBoot(id string) string { return strings.ReplaceAll(id, "-", "") }
