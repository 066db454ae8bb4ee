package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/collector/journal/probe"
)

func probeJournalCommand() *cobra.Command {
	var cfg probe.Config
	cmd := &cobra.Command{
		Use: "journal", Short: "Read the systemd journal; JSON lines on standard output until standard input ends", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return probe.Run(ctx, os.Stdin, os.Stdout, cfg)
		},
	}
	cmd.Flags().StringArrayVar(&cfg.Paths, "path", nil, "a directory of journals; the first that has this boot is read")
	cmd.Flags().BoolVar(&cfg.Kernel, "kernel", false, "follow the kernel's records")
	cmd.Flags().StringArrayVar(&cfg.Units, "unit", nil, "follow a unit's lines")
	cmd.Flags().BoolVar(&cfg.Kata, "kata", false, "follow the consoles of Kata guests")
	return cmd
}
