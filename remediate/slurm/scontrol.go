package slurm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/command"
)

// Config says which node of which Slurm.
type Config struct {
	// Node is its NodeName in slurm.conf; see ValidName.
	Node string
	// Scontrol is the program, with what goes before its arguments.
	Scontrol []string
	// Deadline is how long one call may take.
	Deadline time.Duration
	// Period is the time between two looks at a node that is drained for us.
	Period time.Duration
}

// oneName is a NodeName without the brackets and commas that would make it several.
var oneName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidName says whether a name is that of one node: scontrol takes lists, ranges
// and ALL as well.
func ValidName(name string) bool { return oneName.MatchString(name) && !strings.EqualFold(name, "all") }

// forbidden is how Slurm says that somebody has no right to change a node.
var forbidden = regexp.MustCompile(`Invalid user id|[Aa]ccess(/permission)? denied|Protocol authentication error|Invalid authentication credential`)

// errState says that the node cannot come into the state from where it is: a
// resume of one that somebody else has just resumed, for one.
var errState = errors.New("not from the node's present state")

// wrongState is how Slurm says it.
const wrongState = "Invalid node state specified"

func (c Config) show(ctx context.Context) (shown, error) {
	output, err := c.call(ctx, "show", "node", c.Node)
	if err != nil {
		return shown{}, err
	}
	return parse(output)
}

func (c Config) drain(ctx context.Context, reason string) error {
	_, err := c.call(ctx, "update", "nodename="+c.Node, "state=drain", "reason="+reason)
	return err
}

// resume takes the drain off. That it is off already is no failure.
func (c Config) resume(ctx context.Context) error {
	_, err := c.call(ctx, "update", "nodename="+c.Node, "state=resume")
	if errors.Is(err, errState) {
		return nil
	}
	return err
}

func (c Config) call(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	argv := append(append([]string{}, c.Scontrol...), args...)
	r, err := command.Run(ctx, argv, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("node %s: scontrol %s: slurmctld has not answered in time: %w", c.Node, args[0], err)
	}
	if err != nil {
		return "", fmt.Errorf("node %s: scontrol %s: %w", c.Node, args[0], err)
	}
	if r.Exit == 0 {
		return r.Output, nil
	}
	err = fmt.Errorf("node %s: scontrol %s: exit status %d %s: %s", c.Node, args[0], r.Exit, r.Signal, r.Output)
	switch {
	case forbidden.MatchString(r.Output):
		err = fmt.Errorf("%w: %w", remediate.ErrForbidden, err)
	case strings.Contains(r.Output, wrongState):
		err = fmt.Errorf("%w: %w", errState, err)
	}
	return "", err
}
