package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// strict makes every misuse of a command, and of those below it, an error with
// exit status 2.
func strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exitError{2, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return exitError{2, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			return nil
		}
	}
	if own := cmd.RunE; cmd.HasSubCommands() && own != nil {
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return choose(cmd, args)
			}
			return own(cmd, args)
		}
	} else if cmd.HasSubCommands() {
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, choose
		// Such a command runs, and is none to call by itself.
		cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(), "{{if .Runnable}}", "{{if not .HasAvailableSubCommands}}", 1))
	}
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
}

// choose is what a command does that only has others below it: gpuhealthd alone
// shows its help, and what else is called without one of them is misused.
func choose(cmd *cobra.Command, args []string) error {
	what := "no command"
	switch {
	case len(args) > 0:
		what = fmt.Sprintf("unknown command %q", args[0])
	case !cmd.HasParent():
		return cmd.Help()
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return exitError{2, fmt.Errorf("%s for %s; there are %s", what, cmd.CommandPath(), strings.Join(names, ", "))}
}

// question takes the arguments of explain: one word or one quoted line, or
// "xid N" and "sxid N" in two.
func question(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exitError{2, errors.New("nothing was asked: give a number, a class of fault, or a quoted line of a kernel log")}
	case len(args) == 1 || len(args) == 2 && (strings.EqualFold(args[0], "xid") || strings.EqualFold(args[0], "sxid")):
		return nil
	}
	return exitError{2, fmt.Errorf("%d arguments are more than one question: put a line of a kernel log in quotes", len(args))}
}

// driverVersion is a flag's value such as 570.86.15, or empty.
type driverVersion string

var versionPattern = regexp.MustCompile(`^[0-9]{2,4}(\.[0-9]+)*$`)

func (d *driverVersion) String() string { return string(*d) }
func (*driverVersion) Type() string     { return "version" }

// Set implements pflag.Value.
func (d *driverVersion) Set(text string) error {
	if text != "" && !versionPattern.MatchString(text) {
		return fmt.Errorf("%q is no version of the NVIDIA driver, such as 570.86.15", text)
	}
	*d = driverVersion(text)
	return nil
}
