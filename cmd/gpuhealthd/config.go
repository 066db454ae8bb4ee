package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check and show a configuration"}
	validate := &cobra.Command{
		Use: "validate FILE", Short: "Check a file; exit 2 names what is wrong with it", Args: cobra.ExactArgs(1),
		Long: `validate reads a file as the daemon does; exit 2 names file, line and field of what
is wrong. A program that the file names and that is not on this machine is a warning:
the file may be for others. So is a file in a home, which the packages' unit hides. What
http.webConfig and serving.dialects name has to be there, and right.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Load(args[0])
			if err != nil {
				return exitError{2, err}
			}
			for _, m := range missing(c) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s: on this machine: %s\n", args[0], m.Setting, m.Why)
			}
			for _, f := range c.InHomes() {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s: %s: %s\n", args[0], f.Setting, f.Path, hiddenByUnit)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: valid\n", args[0])
			return err
		},
	}
	var out output
	show := &cobra.Command{
		Use: "print [FILE]", Short: "Print every value that a file, or no file, amounts to", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := config.Default()
			var err error
			if len(args) == 1 {
				if c, err = config.Load(args[0]); err != nil {
					return exitError{2, err}
				}
			}
			return printConfig(cmd, c, out)
		},
	}
	out.flags(show)
	cmd.AddCommand(validate, show)
	return cmd
}

func printConfig(cmd *cobra.Command, c config.Config, out output) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if out != outputJSON {
		_, err = cmd.OutOrStdout().Write(data)
		return err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return err
	}
	return json.NewEncoder(cmd.OutOrStdout()).Encode(tree)
}
