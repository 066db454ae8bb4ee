package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/repair"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// lookEvery is how often it is looked who holds the GPUs while they are diagnosed.
const lookEvery = 5 * time.Second

// errDaemon is why nothing is diagnosed from here.
func errDaemon(pid int, cfg config.Config) error {
	who := "a gpuhealthd that cannot be seen from here"
	if pid > 0 {
		who = fmt.Sprintf("gpuhealthd, process %d,", pid)
	}
	asked := "by this configuration it has no fixed address"
	if url := cfg.HTTP.URL(); url != "" {
		asked = "it does not answer at " + url
	}
	return fmt.Errorf("%s runs on this node and has %s locked, and %s: ask it with --url where its log says that it listens, or by its Node's annotation %s",
		who, cfg.State.Path, asked, remediate.AskAnnotation)
}

// diagAlone diagnoses without a daemon. Whoever holds a GPU is found by the host's
// processes alone.
func diagAlone(cmd *cobra.Command, cfg config.Config, f diagFlags) error {
	if pid, inUse := store.InUse(cfg.State.Path); inUse {
		return errDaemon(pid, cfg)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "No daemon runs here: dcgmi is run from here.")
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	gpus, err := listGPUs(ctx, cfg)
	if err != nil {
		return err
	}
	task, err := f.task(gpus)
	if err != nil {
		return exitError{2, err}
	}
	tools, err := repair.New(repair.Options{Log: slog.New(slog.DiscardHandler), Config: cfg.Repair, GPUs: func() []nvml.GPU { return gpus }})
	if err != nil {
		return err
	}
	if held := heldBy(ctx, tools.Occupant, task.GPUs); held != "" {
		return exits(remediate.CheckNotRun, held)
	}
	ctx, callOff := context.WithCancelCause(ctx)
	defer callOff(nil)
	go watchHolders(ctx, tools.Occupant, task.GPUs, callOff)
	show := newDiagProgress(cmd.ErrOrStderr())
	o := dcgmi.New(cfg.Repair.Diag.Runner()).Run(ctx, task, func(p dcgmi.Progress) { show.line(p.Waiting, progressText(p)) })
	show.end()
	if err := writeTable(cmd.OutOrStdout(), o); err != nil {
		return err
	}
	check, why := repair.Worst(o)
	return exits(check, why)
}

// task is what shall be diagnosed.
func (f diagFlags) task(gpus []nvml.GPU) (dcgmi.Task, error) {
	t := dcgmi.Task{Level: f.asked.Level, GPUs: f.asked.GPUs}
	var all []string
	for _, g := range gpus {
		all = append(all, g.UUID)
	}
	for _, uuid := range t.GPUs {
		if !slices.Contains(all, uuid) {
			return t, fmt.Errorf("no GPU has the UUID %q; there are %s", uuid, strings.Join(all, ", "))
		}
	}
	if len(t.GPUs) == 0 {
		t.GPUs = all
	}
	return t, nil
}

// listGPUs asks the driver once.
func listGPUs(ctx context.Context, cfg config.Config) (gpus []nvml.GPU, err error) {
	limit := 3 * time.Duration(cfg.NVML.Deadline)
	ctx, cancel := context.WithTimeout(ctx, max(limit, 30*time.Second))
	defer cancel()
	why := errors.New("the driver does not answer")
	driver := nvml.New(nvmlConfig(cfg))
	ended := driver.Run(ctx, func(r nvml.Report) {
		switch r.Kind {
		case nvml.KindInventory:
			gpus = r.Inventory.GPUs
			cancel()
		case nvml.KindFailed:
			why = errors.New(r.Failed.Error())
			cancel()
		case nvml.KindHung:
			if r.Hung.Call == nvml.NoAnswer { // else the poll that follows tells what it can
				why = errors.New("the NVML child: " + r.Hung.Child)
				cancel()
			}
		}
	})
	switch {
	case len(gpus) > 0:
		return gpus, nil
	case ended != nil:
		return nil, ended
	}
	return nil, fmt.Errorf("which GPUs there are: %w", why)
}

// heldBy says who holds any of the GPUs, or that nobody can tell; empty is free.
func heldBy(ctx context.Context, who agent.Occupant, uuids []string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*lookEvery)
	defer cancel()
	o := who.Occupancy(ctx)
	if o.Unknown != "" {
		return "it is not known who holds the GPUs: " + o.Unknown
	}
	for _, h := range o.Holders {
		if h.GPU == "" || slices.Contains(uuids, h.GPU) {
			return "held by " + h.String()
		}
	}
	return ""
}

// watchHolders calls the diagnosis off when somebody comes.
func watchHolders(ctx context.Context, who agent.Occupant, uuids []string, callOff context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		if held := heldBy(ctx, who, uuids); held != "" && ctx.Err() == nil {
			callOff(errors.New(held))
			return
		}
	}
}
