// Package imex looks how IMEX is on this node, by which the trays of an NVLink rack
// lend each other memory: whether its daemon is among the host's processes, the host's
// own or one of a pod; how many processes use it, which is what makes its end a fault;
// and what the host's daemon answers. A look has a deadline, changes nothing, and what
// it cannot see is unknown.
package imex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate/command"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
)

// Look is how to look.
type Look struct {
	// Proc is the host's process file system, Dev where its processes have the
	// device files.
	Proc, Dev string
	// Command prints the state of the host's daemon in one word; none does not ask.
	// Deadline is how long it may take: it is known to hang.
	Command  []string
	Deadline time.Duration
}

// See looks once. An error says why a part of the answer is unknown. Who uses IMEX is
// looked for only where something is wrong with it: that reads the open files of every
// process.
func (l Look) See(ctx context.Context) (seen fault.IMEX, err error) {
	if err := host.Sees(l.Proc); err != nil {
		state, failed := l.ask(ctx)
		seen.State = state
		return seen, errors.Join(err, failed)
	}
	runs, err := host.IMEX(l.Proc)
	if err != nil {
		return seen, err
	}
	if seen.Runs = &runs; runs {
		if seen.State, err = l.ask(ctx); seen.State != nvlink.IMEXNotReady {
			return seen, err
		}
	}
	found := holders.Channels(holders.Options{Proc: l.Proc, Dev: l.Dev})
	if users := len(found.Processes); found.Unknown == "" || users > 0 {
		seen.Users = &users
		return seen, nil
	}
	return seen, fmt.Errorf("look who uses IMEX: %s", found.Unknown)
}

// ask asks the host's daemon. One that does not answer is unknown: pods may run
// others.
func (l Look) ask(ctx context.Context) (nvlink.IMEXState, error) {
	if len(l.Command) == 0 {
		return nvlink.IMEXUnknown, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.Deadline)
	defer cancel()
	r, err := command.Run(ctx, l.Command, nil)
	if err != nil {
		return nvlink.IMEXUnknown, err
	}
	word := strings.TrimSpace(r.Output)
	state := nvlink.IMEXWord(word)
	if state == nvlink.IMEXUnknown {
		return state, fmt.Errorf("run %s: exit status %d, %.80q is no state of a daemon", l.Command[0], r.Exit, word)
	}
	return state, nil
}
