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
	cfg      config.Config
	url      string
	deadline time.Duration
	filter   check.Filter
}

func checkCommand() *cobra.Command {
	var c checking
	var path string
	var nagios bool
	var out output
	cmd := &cobra.Command{
		Use: "check", Short: "Say once whether this node's GPUs are in order", Args: cobra.NoArgs,
		Long: `Say once, in one line, whether this node's GPUs are in order: for a prolog, a
node health check or a monitoring plugin. A daemon that runs is asked. Where none
does, the kernel log of this boot is read and the driver asked once; nothing is
changed. An answer comes within the deadline even if the driver hangs.

A check is called as its class of fault (xid-79, links-down), or driver or
kernel-log, which say whether that could be asked or heard.

Exit 0 healthy, 1 degraded, 2 faulty, 3 unknown or a wrong command line.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if c.deadline < time.Second {
				return unsure(fmt.Errorf("--deadline: %s is less than 1s", c.deadline))
			}
			c.cfg = config.Default()
			if path != "" {
				if c.cfg, err = config.Load(path); err != nil {
					return unsure(err)
				}
			}
			if path != "" && !cmd.Flags().Changed("url") {
				c.url = answersAt(c.cfg.HTTP.Listen)
			}
			r := c.run(cmd.Context())
			if err := tellCheck(cmd.OutOrStdout(), r, out, nagios); err != nil {
				return unsure(err)
			}
			if r.Grade != check.Healthy {
				return exitError{code: int(r.Grade)}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.url, "url", "http://127.0.0.1:9878", "where a daemon may answer; empty does not ask one")
	f.StringVar(&path, "config", "", "the daemon's configuration file: where it answers, how many GPUs there must be")
	f.DurationVar(&c.deadline, "deadline", 5*time.Second, "how long it may take, at least 1s")
	f.Var(&c.filter.Only, "only", "faults that count, such as xid-79,links-*; what cannot be seen always does")
	f.Var(&c.filter.Skip, "skip", "checks that do not count")
	f.BoolVar(&nagios, "nagios", false, "print a monitoring plugin's line, with performance data")
	out.flags(cmd)
	return cmd
}

// unsure makes any error of a check one that says that nothing is known: 2 would
// say that the node is faulty.
func unsure(err error) error { return exitError{int(check.Unknown), err} }

func tellCheck(w io.Writer, r check.Result, out output, nagios bool) error {
	line := r.Line()
	switch {
	case out == outputJSON:
		return r.JSON(w)
	case nagios:
		line = r.Nagios()
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// share is how much of the deadline is for finding out; the rest is for a machine
// that is busy.
const share = 0.9

// run finds out, and gives up at the deadline whatever it is that hangs.
func (c checking) run(ctx context.Context) check.Result {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(share*float64(c.deadline)))
	defer cancel()
	found := make(chan check.Result, 1)
	go func() { found <- c.find(ctx) }()
	var r check.Result
	select {
	case r = <-found:
	case <-time.After(c.deadline):
		r = check.Failed("", fmt.Sprintf("nothing was found out within %s", c.deadline))
	}
	r.Seconds = time.Since(began).Seconds()
	return r
}

// find asks the daemon, or where none runs, kernel log and driver.
func (c checking) find(ctx context.Context) check.Result {
	if c.url != "" {
		r, err := c.askDaemon(ctx)
		if err == nil {
			return r
		}
		if !nobodyThere(err) {
			return check.Failed("daemon", err.Error())
		}
	}
	s, err := c.once(ctx)
	if err != nil {
		return check.Failed("driver", err.Error())
	}
	r := check.Judge(s.At, s, c.filter)
	r.Source = "driver"
	return r
}

// askDaemon judges by what a running daemon says; one that has just started is
// given time.
func (c checking) askDaemon(ctx context.Context) (check.Result, error) {
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

// answersAt is the URL of a daemon that listens so on this host.
func answersAt(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
