package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/explain"
)

func explainCommand() *cobra.Command {
	var format output
	var driver string
	cmd := &cobra.Command{
		Use:   "explain XID | sxid N | CLASS | LINE",
		Short: "Say what a number or a line means, and what the daemon does about it",
		Long: `Say what an XID, an SXid, a class of fault or a whole line of a kernel log
means, who is at fault, how far it reaches, what the daemon does about it and
why, how to confirm it, and where NVIDIA writes about it. A line is one argument,
in quotes. Nothing is asked of the driver. Exit 0 for a number that nobody knows,
2 for what is no question.`,
		Example: "  gpuhealthd explain 79\n  gpuhealthd explain sxid 20034\n  gpuhealthd explain 'NVRM: Xid (PCI:0000:3b:00): 95, …'",
		Args:    question,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := explain.Explain(strings.Join(args, " "), driver)
			if err != nil {
				return exitError{2, err}
			}
			out := cmd.OutOrStdout()
			if format == outputJSON {
				enc := json.NewEncoder(out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(e)
			}
			return explain.Text(out, e, terminalWidth(out, explain.MaxWidth), styleFor(out))
		},
	}
	format.flags(cmd)
	cmd.Flags().Var((*driverVersion)(&driver), "driver", "version of the driver that wrote the line, such as 570.86.15")
	return cmd
}
