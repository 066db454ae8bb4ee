package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/command"
)

// Exit statuses of nvidia-smi, by its manual.
const (
	exitNotFound = 6
	exitLost     = 15
)

// errNobody means that nvidia-smi could not be started.
var errNobody = errors.New("nvidia-smi cannot be run")

// smi runs nvidia-smi for so long at most.
func (c Config) smi(ctx context.Context, limit time.Duration, arguments ...string) (command.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := command.Run(ctx, c.argv(append([]string{c.SMI}, arguments...)...), nil)
	if err != nil && ctx.Err() == nil {
		return r, fmt.Errorf("%w: %w", errNobody, err)
	}
	return r, err
}

// busID is a GPU's address as nvidia-smi takes it. It is the one name that a GPU
// surely has: its UUID may never have been told.
func busID(gpu fault.Device) string { return gpu.PCI.String() + ".0" }

// reset is the reset itself.
func (a *attempt) reset(ctx context.Context) (said string, err error) {
	var ids []string
	for _, gpu := range a.gpus {
		ids = append(ids, busID(gpu))
	}
	r, err := a.Config.smi(ctx, a.Config.ResetLimit, "--gpu-reset", "-i", strings.Join(ids, ","))
	switch {
	case err != nil:
		return "", fmt.Errorf("reset %s: %w", strings.Join(ids, ", "), err)
	case r.Exit == 0:
		return r.Output, nil
	case inUse(r.Output):
		return "", a.inUse(ctx, r.Output)
	}
	return "", fmt.Errorf("reset %s: %s", strings.Join(ids, ", "), ended(r))
}

// inUse says whether nvidia-smi has reset nothing because a GPU is held.
func inUse(output string) bool {
	return strings.Contains(output, "In use by another client") ||
		strings.Contains(output, "being used by one or more other processes")
}

// inUse is the driver's refusal, with the names of those who have come since we
// looked. It may be somebody whom /proc does not show, such as the kernel.
func (a *attempt) inUse(ctx context.Context, output string) error {
	r := refusal{text: "nvidia-smi: " + output}
	holders, err := a.Holders(ctx, a.gpus)
	switch {
	case err != nil:
		r.text += fmt.Sprintf("; who it is cannot be told: %v", err)
	case len(holders) > 0:
		r.text, r.holders = r.text+"; held by "+names(holders), holders
	default:
		r.text += "; no process has it open"
	}
	return r
}

// ended says how a program ended that has failed.
func ended(r command.Result) string {
	how := fmt.Sprintf("exit status %d", r.Exit)
	if r.Signal != "" {
		how = "ended by signal: " + r.Signal
	}
	if r.Output == "" {
		return how
	}
	return how + ": " + r.Output
}

// names tells of holders in a line.
func names(holders []remediate.Holder) string {
	var list []string
	for _, h := range holders {
		who := "a process"
		switch {
		case h.PID != 0:
			who = fmt.Sprintf("%s (process %d)", h.Process, h.PID)
		case h.Pod != "":
			who = "pod " + h.Pod
		}
		if h.PID != 0 && h.Pod != "" {
			who += " of pod " + h.Pod
		}
		if h.GPU != "" {
			who += " on " + h.GPU
		}
		if h.Stuck {
			who += ", which cannot be killed"
		}
		list = append(list, who)
	}
	return strings.Join(list, ", ")
}
