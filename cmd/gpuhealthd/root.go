package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "0.1.0-dev"

// exitError is an error with an exit status of its own. Without an err all has been
// said already.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e exitError) Unwrap() error { return e.err }

// exitCode is 2 for a wrong command line and for what could not be read, 1 for any other error.
func exitCode(err error) int {
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return 1
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gpuhealthd",
		Short: "GPU health on one node: what is broken, how far it reaches, what to do about it",
		Long: `gpuhealthd hears the kernel log and asks the NVIDIA driver, decides what is
broken and how far the damage reaches, and takes the node out of service when
it must. In mode contain, the default, it cordons, taints and labels, and
requests the rest; only in mode repair does it drain, reset and reboot itself.

` + exitStatus + ` check and diag have their own.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	cmd.AddCommand(runCommand(), replayCommand(), explainCommand(), statusCommand(), topologyCommand(), eventsCommand(), diagCommand(), configCommand(), demoCommand(), probeCommand(), manCommand(), versionCommand())
	strict(cmd)
	cmd.AddCommand(checkCommand()) // which tells of its misuse itself
	return cmd
}
