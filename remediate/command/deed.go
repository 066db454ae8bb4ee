package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Do has a program do a deed. It gets the deed as one line of JSON on stdin, and
// in its environment:
//
//	GPUHEALTHD_DEED  the deed's id, the same each time that it is tried
//	GPUHEALTHD_KIND  drain, reset, reboot or diag
//	GPUHEALTHD_GPUS  the UUIDs, separated by commas; a GPU without one is left out
//	GPUHEALTHD_PCI   the PCI addresses, all of them
//
// Exit status 0 is success, and every other no. A deed that is resumable may be
// handed to the program again after the agent has died, also while an earlier one
// still runs.
func Do(ctx context.Context, argv []string, deed remediate.Deed) remediate.Outcome {
	outcome := remediate.Outcome{Deed: deed.ID}
	stdin, err := json.Marshal(deed)
	if err != nil {
		outcome.Result, outcome.Text = remediate.Unavailable, fmt.Sprintf("deed %s as JSON: %v", deed.ID, err)
		return outcome
	}
	r, err := run(ctx, argv, environment(deed), append(stdin, '\n'))
	outcome.Result, outcome.Text = judge(ctx, r, err), describe(r, err)
	return outcome
}

func environment(deed remediate.Deed) []string {
	var uuids, addresses []string
	for _, gpu := range deed.GPUs {
		addresses = append(addresses, gpu.PCI.String())
		if gpu.UUID != "" {
			uuids = append(uuids, gpu.UUID)
		}
	}
	return []string{
		"GPUHEALTHD_DEED=" + deed.ID,
		"GPUHEALTHD_KIND=" + string(deed.Kind),
		"GPUHEALTHD_GPUS=" + strings.Join(uuids, ","),
		"GPUHEALTHD_PCI=" + strings.Join(addresses, ","),
	}
}

func judge(ctx context.Context, r Result, err error) remediate.Result {
	switch {
	case err == nil && r.Exit == 0:
		return remediate.Succeeded
	case errors.Is(ctx.Err(), context.Canceled):
		return remediate.Aborted
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		return remediate.Unsuccessful
	}
	return remediate.Unavailable
}

// describe says how it ended, and what the program had to say.
func describe(r Result, err error) string {
	var said []string
	switch {
	case err != nil:
		said = append(said, err.Error())
	case r.Signal != "":
		said = append(said, "ended by signal: "+r.Signal)
	case r.Exit != 0:
		said = append(said, fmt.Sprintf("exit status %d", r.Exit))
	}
	if r.Output != "" {
		said = append(said, r.Output)
	}
	return strings.Join(said, "\n")
}
