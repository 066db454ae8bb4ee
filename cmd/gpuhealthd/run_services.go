package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/imex"
	"github.com/gpuhealthd/gpuhealthd/remediate/host"
)

// nvlinkServices adds the looks at the services of NVLink, by the host's processes.
func nvlinkServices(opts *agent.Options, cfg config.Config) {
	proc := cfg.Repair.Proc
	opts.Managed = func() (bool, error) {
		if err := host.Sees(proc); err != nil {
			return false, err
		}
		return host.FabricManager(proc)
	}
	look := imex.Look{Proc: proc, Dev: cfg.Repair.Dev, Deadline: time.Duration(cfg.IMEX.Deadline)}
	if len(cfg.IMEX.Command) > 0 {
		look.Command = slices.Concat(cfg.Repair.Host, cfg.IMEX.Command)
	}
	opts.IMEX = func(ctx context.Context) (fault.IMEX, error) { return look.See(ctx) }
}

// hostProc is where the host's process file system is: in a pod, where that is mounted.
func hostProc(configured string) string {
	if configured != "" {
		return configured
	}
	if mounted := os.Getenv("HOST_PROC"); mounted != "" {
		return mounted
	}
	return "/proc"
}
