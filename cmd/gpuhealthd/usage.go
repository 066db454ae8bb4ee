package main

import (
	"fmt"
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
	if cmd.HasSubCommands() {
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
