package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/repair"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

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
	switch pid, inUse, err := store.InUse(cfg.State.Path); {
	case err != nil:
		return fmt.Errorf("%w: run this as the daemon's user, which is root, or ask the daemon with --url, or by its Node's annotation %s", err, remediate.AskAnnotation)
	case inUse:
		return errDaemon(pid, cfg)
	}
	cfg.Repair.Proc = hostProc(cfg.Repair.Proc)
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
	o := diagFree(ctx, cmd.ErrOrStderr(), cfg, task, tools.Occupant)
	if err := writeTable(cmd.OutOrStdout(), o); err != nil {
		return err
	}
	check, why := repair.Worst(o)
	return exits(check, why)
}

// diagFree diagnoses the GPUs of a task that nobody holds, and says of the others who
// does.
func diagFree(ctx context.Context, progress io.Writer, cfg config.Config, task dcgmi.Task, who agent.Occupant) diag.Outcome {
	held := heldBy(ctx, who, task.GPUs, false)
	all := task.GPUs
	task.GPUs = slices.DeleteFunc(slices.Clone(all), func(uuid string) bool { return held[uuid] != "" })
	o := diag.Outcome{Level: task.Level, Began: time.Now()}
	if len(task.GPUs) > 0 {
		ctx, callOff := context.WithCancelCause(ctx)
		defer callOff(nil)
		go watchHolders(ctx, who, task.GPUs, callOff)
		show := newDiagProgress(progress)
		o = dcgmi.New(cfg.Repair.Diag.Runner()).Run(ctx, task, func(p dcgmi.Progress) { show.line(p.Waiting, progressText(p)) })
		show.end()
	}
	for _, uuid := range all {
		if held[uuid] != "" {
			o.Add(uuid, diag.NotRun, held[uuid])
		}
	}
	return o
}

// task is what shall be diagnosed.
func (f diagFlags) task(gpus []nvml.GPU) (dcgmi.Task, error) {
	t := dcgmi.Task{Level: f.asked.Level, GPUs: slices.Clone(f.asked.GPUs)}
	var all []string
	for _, g := range gpus {
		all = append(all, g.UUID)
	}
	for n, uuid := range t.GPUs {
		is := slices.IndexFunc(all, func(have string) bool { return strings.EqualFold(have, uuid) })
		if is < 0 {
			return t, fmt.Errorf("no GPU has the UUID %q; there are %s", uuid, strings.Join(all, ", "))
		}
		t.GPUs[n] = all[is]
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
	asked := nvmlConfig(cfg)
	if os.MkdirAll(asked.Lock, 0o700) != nil {
		asked.Lock = "" // no child can have been left where there is no such folder
	}
	driver := nvml.New(asked)
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
