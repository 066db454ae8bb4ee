package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// proc is where the kernel lists processes, of our own namespace.
const proc = "/proc"

// quiet makes our children let go, and proves that nothing in our process tree has
// a device of the driver open.
func (a *attempt) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	var asked error
	if a.Children != nil {
		asked = a.Children.Quiet(ctx)
	}
	open, err := OwnHolders(a.Config.Devices)
	switch {
	case err != nil:
		return refusal{text: fmt.Sprintf("whether we have a GPU open ourselves cannot be told: %v", err)}
	case len(open) > 0:
		return refusal{text: "our own processes do not let go: held by " + names(open), holders: open}
	case asked != nil:
		return refusal{text: fmt.Sprintf("our own processes do not let go: %v", asked)}
	}
	return nil
}

// OwnHolders names the processes from ours downwards that have a file open whose path
// begins with devices, such as /dev/nvidia.
func OwnHolders(devices string) (holders []remediate.Holder, err error) {
	parents, err := parents()
	if err != nil {
		return nil, err
	}
	for pid := range parents {
		if !descends(pid, os.Getpid(), parents) {
			continue
		}
		open, err := hasOpen(pid, devices)
		if err != nil {
			return nil, err
		}
		if open {
			holders = append(holders, remediate.Holder{PID: pid, Process: processName(pid)})
		}
	}
	slices.SortFunc(holders, func(a, b remediate.Holder) int { return a.PID - b.PID })
	return holders, nil
}

// parents gives each process's parent.
func parents() (map[int]int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	of := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(proc, e.Name(), "stat"))
		if err != nil {
			continue // it is gone
		}
		// The name in parentheses may hold anything; state and parent follow it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			return nil, fmt.Errorf("%s/%d/stat: %q", proc, pid, stat)
		}
		if of[pid], err = strconv.Atoi(fields[1]); err != nil {
			return nil, fmt.Errorf("%s/%d/stat: %w", proc, pid, err)
		}
	}
	return of, nil
}

// descends says whether a process is root or comes from it. Numbers may be reused
// while we look, so a circle is possible.
func descends(pid, root int, parents map[int]int) bool {
	for range len(parents) + 1 {
		if pid == root {
			return true
		}
		pid = parents[pid]
	}
	return false
}

// hasOpen says whether a process has such a file open. One that is gone has none.
func hasOpen(pid int, devices string) (bool, error) {
	dir := filepath.Join(proc, strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		return err == nil && strings.HasPrefix(target, devices)
	}), nil
}

func processName(pid int) string {
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(name))
}
