package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm/probe"
)

func probeDCGMCommand() *cobra.Command {
	var cfg probe.Config
	cmd := &cobra.Command{
		Use: "dcgm", Short: "Ask a DCGM engine; JSON lines on standard output until standard input ends", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return probe.Run(ctx, os.Stdin, os.Stdout, cfg)
		},
	}
	cmd.Flags().StringVar(&cfg.Address, "address", "localhost:5555", "the engine's HOST:PORT, or the path of its unix socket")
	cmd.Flags().BoolVar(&cfg.Embedded, "embedded", false, "start an engine in this process instead")
	cmd.Flags().BoolVar(&cfg.Profiling, "profiling", false, "watch the profiling fields too")
	cmd.Flags().DurationVar(&cfg.Period, "period", 10*time.Second, "time between two polls")
	cmd.Flags().DurationVar(&cfg.Deadline, "deadline", 5*time.Second, "how long one call may take")
	return cmd
}
