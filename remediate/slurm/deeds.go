package slurm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// every is the time between two looks whether the jobs have ended.
const every = 5 * time.Second

// Drain waits until no job is left on the node, which is drained already: the plan
// drains nothing before it has seen that. It returns when the node is empty, when
// somebody has resumed it, or when ctx ends. A controller that is away is waited for.
func (c Config) Drain(ctx context.Context, deed remediate.Deed) remediate.Outcome {
	o := remediate.Outcome{Deed: deed.ID}
	for {
		s, err := c.show(ctx)
		switch {
		case err != nil:
			o.Text = err.Error()
		case !s.drained():
			o.Result, o.Text = remediate.Unsuccessful, fmt.Sprintf("node %s is %s: somebody has resumed it", c.Node, s.state())
			return o
		case s.empty():
			o.Result = remediate.Succeeded
			return o
		default:
			o.Text = fmt.Sprintf("node %s is %s: jobs still run", c.Node, s.state())
		}
		select {
		case <-ctx.Done():
			o.Result = remediate.Unsuccessful
			if errors.Is(ctx.Err(), context.Canceled) {
				o.Result = remediate.Aborted
			}
			return o
		case <-time.After(every):
		}
	}
}

// Reboot is the command by which Slurm reboots the node, as soon as it is empty. By
// Slurm's rule the node is then resumed; the reason stays ours until it is.
func (c Config) Reboot(deed remediate.Deed) []string {
	note := remediate.Note{Fault: string(deed.Fault)}
	if len(deed.Incidents) > 0 {
		note.ID = deed.Incidents[0]
	}
	for _, g := range deed.GPUs {
		name := g.UUID
		if name == "" {
			name = g.PCI.String()
		}
		note.GPUs = append(note.GPUs, name)
	}
	return append(append([]string{}, c.Scontrol...), "reboot", "ASAP", "nextstate=resume", "reason="+reasonOf(note), c.Node)
}
