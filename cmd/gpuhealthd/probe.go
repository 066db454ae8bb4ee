package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml/probe"
)

func probeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "probe", Short: "Ask a library in a child process (the daemon starts this)", Hidden: true}
	var cfg probe.Config
	nvml := &cobra.Command{
		Use: "nvml", Short: "Ask NVML; JSON lines on standard output until standard input ends", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return probe.Run(ctx, os.Stdin, os.Stdout, cfg)
		},
	}
	nvml.Flags().DurationVar(&cfg.Period, "period", 5*time.Second, "time between two polls")
	nvml.Flags().DurationVar(&cfg.SlowPeriod, "slow-period", time.Minute, "time between two polls that ask for what rarely changes too")
	nvml.Flags().DurationVar(&cfg.Deadline, "deadline", 3*time.Second, "how long one driver call may take")
	nvml.Flags().StringArrayVar(&cfg.LibraryPaths, "library-path", nil, "a folder to look for the driver's library in, first; may be given more than once")
	cmd.AddCommand(nvml, probeJournalCommand(), probeDCGMCommand())
	return cmd
}
