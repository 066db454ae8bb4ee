package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/demo"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

func demoCommand() *cobra.Command {
	var library string
	cmd := &cobra.Command{
		Use: "demo", Short: "Play faults into a simulated node and show what the daemon makes of them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			self, err := os.Executable()
			if err != nil {
				return err
			}
			style := replay.Style{Colour: isTerminal(cmd.OutOrStdout())}
			return demo.Run(ctx, demo.Options{Daemon: self, Library: library, Out: cmd.OutOrStdout(), Style: style,
				Finish: func(ctx context.Context, url string) error {
					body, err := fetch(ctx, url+"/api/v1/status")
					if err != nil {
						return err
					}
					var s agent.Status
					if err := json.Unmarshal(body, &s); err != nil {
						return fmt.Errorf("%s: %w", url, err)
					}
					return printStatus(cmd.OutOrStdout(), s, style)
				}})
		},
	}
	cmd.Flags().StringVar(&library, "sim", "build/sim", "the folder of the simulated driver; make sim builds it")
	return cmd
}
