package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// command is one thing to do to a node. Arguments in args are all required.
type command struct {
	name, args, help string
	do               func(n *node.Node, args []string) error
}

func commands() []command {
	return append([]command{
		{"show", "", "list the GPUs", show},
		{"lose", "GPU", "take it off the bus until the next reboot",
			func(n *node.Node, a []string) error { return n.Lose(a[0]) }},
		{"break", "GPU", "take it off the bus for good: a reboot does not bring it back",
			func(n *node.Node, a []string) error { return n.Break(a[0]) }},
		{"restore", "GPU", "undo every fault of it",
			func(n *node.Node, a []string) error { return n.Restore(a[0]) }},
		{"hang", "CALL SECONDS", "let an NVML call (* is all) hang; \"forever\" is for ever, 0 ends it",
			func(n *node.Node, a []string) error { return hang(n, a[0], "", a[1]) }},
		{"hang", "CALL GPU SECONDS", "the same on one GPU",
			func(n *node.Node, a []string) error { return hang(n, a[0], a[1], a[2]) }},
		{"recovery", "GPU N", "what the driver wants done: 0 (none) to 7", recovery},
		{"remap", "GPU pending|failed|none", "row remapping",
			func(n *node.Node, a []string) error { return n.Remap(a[0], a[1]) }},
		{"mismatch", "on|off", "driver and library of different versions", mismatch},
		{"kmsg", "TEXT", "let the kernel log say it",
			func(n *node.Node, a []string) error { return n.Kmsg(a[0]) }},
		{"reboot", "", "a new boot id, an empty kernel log, lost GPUs back",
			func(n *node.Node, _ []string) error { return n.Reboot() }},
	}, dcgmCommands()...)
}

func usage() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  init PROFILE\tmake the node, for example of hgx-h100")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	_ = w.Flush() // into memory
	return b.String()
}

func run(dir string, args []string) error {
	switch {
	case dir == "":
		return errors.New("-dir is not set")
	case len(args) == 0:
		return errors.New("no command\n" + usage())
	case args[0] == "init" && len(args) == 2:
		_, err := node.New(dir, args[1])
		return err
	}
	for _, c := range commands() {
		if c.name != args[0] || len(strings.Fields(c.args)) != len(args)-1 {
			continue
		}
		n, err := node.Open(dir)
		if err != nil {
			return err
		}
		return c.do(n, args[1:])
	}
	return fmt.Errorf("%q: no such command with %d arguments\n%s", args[0], len(args)-1, usage())
}

func show(n *node.Node, _ []string) error {
	gpus, err := n.GPUs()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GPU\tPCI\tUUID\tSERIAL\tNAME\tSTATE")
	for _, g := range gpus {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", g.Index, g.PCI, g.UUID, g.Serial, g.Name, g.State)
	}
	return w.Flush()
}

func hang(n *node.Node, call, gpu, seconds string) error {
	if seconds == "forever" {
		return n.Hang(call, gpu, node.Forever)
	}
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil || s < 0 {
		return fmt.Errorf("hang: %q: want seconds or forever", seconds)
	}
	return n.Hang(call, gpu, time.Duration(s*float64(time.Second)))
}

func recovery(n *node.Node, args []string) error {
	action, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("recovery action %q: want a number", args[1])
	}
	return n.Recovery(args[0], action)
}

func mismatch(n *node.Node, args []string) error {
	if args[0] != "on" && args[0] != "off" {
		return fmt.Errorf("mismatch %q: want on or off", args[0])
	}
	return n.Mismatch(args[0] == "on")
}
