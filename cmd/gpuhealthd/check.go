package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/check"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// checking is what the command line asks of a check.
type checking struct {
	beside   besideDaemon
	deadline time.Duration
	filter   check.Filter
	out      output
	nagios   bool

	cfg config.Config
	// unread is why the host's configuration is not known to this user.
	unread error
	url    string
}

func checkCommand() *cobra.Command {
	var c checking
	cmd := &cobra.Command{
		Use: "check", Short: "Say once whether this node's GPUs are in order",
		Long: `Say once, in one line, whether this node's GPUs are in order: for a prolog, a
node health check or a monitoring plugin. A daemon that runs is asked. Where none
does, the kernel log of this boot is read and the driver asked once; nothing is
changed, and nothing left behind. An answer comes within the deadline even if the
driver hangs.

A check is called as its class of fault (xid-79, links-down), or driver or
kernel-log, which say whether that could be asked or heard.

Exit 0 healthy, 1 degraded, 2 faulty, 3 unknown or a wrong command line or
configuration, which is said on standard output too.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.prepare(cmd); err != nil {
				return c.misused(cmd, err)
			}
			return c.tell(cmd.OutOrStdout(), c.run(cmd.Context()))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return c.misused(cmd, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return c.misused(cmd, fmt.Errorf("check takes no arguments, and there is %q", args[0]))
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVar(&c.beside.url, "url", "", "where a daemon may answer (default http.listen of the configuration, http://127.0.0.1:9878); empty does not ask one")
	c.beside.configFlag(cmd)
	f.DurationVar(&c.deadline, "deadline", 5*time.Second, "how long it may take, at least 1s")
	f.Var(&c.filter.Only, "only", "faults that count, such as xid-79,links-*; what cannot be seen always does")
	f.Var(&c.filter.Skip, "skip", "checks that do not count")
	f.BoolVar(&c.nagios, "nagios", false, "print a monitoring plugin's line, with performance data")
	c.out.flags(cmd)
	complete(cmd, "only", check.Names)
	complete(cmd, "skip", check.Names)
	return cmd
}

// prepare reads the configuration, and refuses what makes no sense.
func (c *checking) prepare(cmd *cobra.Command) (err error) {
	if c.deadline < time.Second {
		return fmt.Errorf("--deadline: %s is less than 1s", c.deadline)
	}
	if c.nagios && c.out == outputJSON {
		return errors.New("--nagios and -o json are two formats: give one")
	}
	c.cfg, err = load(c.beside.path, cmd.Flags().Changed("config"))
	if unread := (errNotOurs{}); errors.As(err, &unread) {
		c.unread, err = unread, nil
	}
	c.url = c.beside.url
	if !cmd.Flags().Changed("url") {
		c.url = c.cfg.HTTP.URL()
	}
	return err
}

// misused answers that nothing was checked, in the form of all answers: a scheduler and a
// monitoring read no other.
func (c *checking) misused(cmd *cobra.Command, err error) error {
	return c.tell(cmd.OutOrStdout(), check.Failed(check.Usage, err.Error()))
}

// tell prints a result, and gives its exit status. What cannot be printed is unknown: 2
// would say that the node is faulty.
func (c *checking) tell(w io.Writer, r check.Result) error {
	var err error
	switch {
	case c.out == outputJSON:
		err = r.JSON(w)
	case c.nagios:
		_, err = fmt.Fprintln(w, r.Nagios())
	default:
		_, err = fmt.Fprintln(w, r.Line())
	}
	switch {
	case err != nil:
		return exitError{int(check.Unknown), err}
	case r.Grade != check.Healthy:
		return exitError{code: int(r.Grade)}
	}
	return nil
}

// share is how much of the deadline is for finding out; the rest is for a machine
// that is busy.
const share = 0.9

// run finds out, and gives up at the deadline whatever it is that hangs.
func (c *checking) run(ctx context.Context) check.Result {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(share*float64(c.deadline)))
	defer cancel()
	found := make(chan check.Result, 1)
	go func() { found <- c.find(ctx) }()
	var r check.Result
	select {
	case r = <-found:
	case <-time.After(c.deadline):
		r = check.Failed(check.Driver, fmt.Sprintf("nothing was found out within %s", c.deadline))
	}
	r.Seconds = time.Since(began).Seconds()
	return r
}

// find asks the daemon, or where none runs, kernel log and driver.
func (c *checking) find(ctx context.Context) check.Result {
	if c.url != "" {
		r, err := c.askDaemon(ctx)
		if err == nil {
			return r
		}
		if !nobodyThere(err) {
			r := check.Failed(check.Daemon, err.Error())
			r.Source = "daemon"
			return r
		}
	}
	if c.unread != nil {
		return check.Failed(check.Usage, c.unread.Error())
	}
	s, err := c.once(ctx)
	if err != nil {
		return check.Failed(sourceOf(err))
	}
	r := check.Judge(s.At, s, c.filter)
	r.Source = "driver"
	return r
}

// sourceOf gives what could not be asked, and why: without a source it is the
// configuration that allows no check.
func sourceOf(err error) (name, why string) {
	if unseen := (check.Unseen{}); errors.As(err, &unseen) {
		return unseen.Check, unseen.Why
	}
	return check.Usage, err.Error()
}

// askDaemon judges by what a running daemon says; one that has just started is
// given time.
func (c *checking) askDaemon(ctx context.Context) (check.Result, error) {
	for {
		s, _, err := askStatus(ctx, c.url)
		if err != nil {
			return check.Result{}, err
		}
		d := s.Driver
		if !d.Enabled || !d.Answered.IsZero() || d.Blind != "" || !sleep(ctx, 200*time.Millisecond) {
			r := check.Judge(time.Now(), s, c.filter)
			r.Source = "daemon"
			return r, nil
		}
	}
}

// sleep is false where ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// nobodyThere says whether no daemon listens.
func nobodyThere(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
