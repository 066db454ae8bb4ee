package dcgmi

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// discoveryTime is how long the engine has to list its GPUs. A stopped engine
// answers a connection after two minutes.
const discoveryTime = time.Minute

var (
	listedID   = regexp.MustCompile(`^\|\s*(\d+)\s*\|`)
	listedUUID = regexp.MustCompile(`\bDevice UUID:\s*(GPU-[0-9A-Fa-f-]+)`)
)

// listed reads the table of "dcgmi discovery -l": the engine's numbers by UUID. A
// UUID is what a GPU is; the number is good for the next call.
func listed(out string) map[string]int {
	ids := map[string]int{}
	id := -1
	for line := range strings.Lines(out) {
		if m := listedID.FindStringSubmatch(line); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				id = n
			}
		}
		if m := listedUUID.FindStringSubmatch(line); m != nil && id >= 0 {
			ids[m[1]], id = id, -1
		}
	}
	return ids
}

// discover asks the engine for its numbers of the GPUs.
func (r *Runner) discover(ctx context.Context) (map[string]int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTime, fmt.Errorf("no answer within %s", discoveryTime))
	defer cancel()
	p, ended, err := r.call(ctx, "discovery", "-l")
	switch {
	case err != nil:
		return nil, err
	case ended.stuck:
		return nil, fmt.Errorf("dcgmi discovery: process %d is stuck in the kernel", p.cmd.Process.Pid)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("dcgmi discovery: %w", context.Cause(ctx))
	case p.flood() != nil:
		return nil, fmt.Errorf("dcgmi discovery: %w", p.flood())
	case p.exit() != 0:
		said := strings.Join(strings.Fields(string(p.out.kept)+" "+string(p.errs.kept)), " ")
		return nil, fmt.Errorf("dcgmi discovery: exit status %d: %.200s", p.exit(), said)
	}
	return listed(string(p.out.kept)), nil
}
