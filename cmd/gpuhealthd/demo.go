package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/demo"
)

func demoCommand() *cobra.Command {
	var library string
	cmd := &cobra.Command{
		Use: "demo", Short: "Play faults into a simulated node and show what the daemon makes of them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			defer stop()
			signal.Ignore(syscall.SIGPIPE) // a reader that goes away is a write that fails: the node is cleared away
			self, err := os.Executable()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			style := styleFor(out)
			err = demo.Run(ctx, demo.Options{Daemon: self, Library: library, Out: out, Width: terminalWidth(out, 120), Style: style,
				Finish: func(ctx context.Context, out io.Writer, url string) error {
					s, _, err := askStatus(ctx, url)
					if err != nil {
						return err
					}
					return printStatus(out, s, style)
				}})
			if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) {
				return nil // whoever watched has seen enough
			}
			return err
		},
	}
	cmd.Flags().StringVar(&library, "sim", "build/sim", "the folder of the simulated driver; make sim builds it")
	return cmd
}
