package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// command is one thing to do to a node. Arguments in args are all required.
type command struct {
	name, args, help string
	do               func(n *node.Node, args []string) error
}

func commands() []command {
	return slices.Concat(lifeCommands(), valueCommands(), symptomCommands(), linkCommands(), dcgmCommands(), diagCommands())
}

// lifeCommands are about the node as a whole and what its calls do.
func lifeCommands() []command {
	return []command{
		{"show", "", "list the GPUs", show},
		{"lose", "GPU", "take it off the bus until the next reboot",
			func(n *node.Node, a []string) error { return n.Lose(a[0]) }},
		{"break", "GPU", "take it off the bus for good: a reboot does not bring it back",
			func(n *node.Node, a []string) error { return n.Break(a[0]) }},
		{"restore", "GPU", "undo every fault of it",
			func(n *node.Node, a []string) error { return n.Restore(a[0]) }},
		{"hang", "CALL SECONDS", "let each NVML call (* is all) hang so long, until released; \"forever\" is for ever, 0 releases",
			func(n *node.Node, a []string) error { return hang(n, a[0], "", a[1]) }},
		{"hang", "CALL GPU SECONDS", "the same on one GPU",
			func(n *node.Node, a []string) error { return hang(n, a[0], a[1], a[2]) }},
		{"fail", "CALL CODE", "let an NVML call answer with an error code, such as 999; 0 ends it",
			func(n *node.Node, a []string) error {
				return count(a[1], func(code int) error { return n.FailCall(a[0], "", code) })
			}},
		{"fail", "CALL GPU CODE", "the same on one GPU",
			func(n *node.Node, a []string) error {
				return count(a[2], func(code int) error { return n.FailCall(a[0], a[1], code) })
			}},
		{"crash", "CALL", "let an NVML call end its process with SIGSEGV; \"fail CALL 0\" ends that",
			func(n *node.Node, a []string) error { return n.Crash(a[0], "") }},
		{"crash", "CALL GPU", "the same on one GPU",
			func(n *node.Node, a []string) error { return n.Crash(a[0], a[1]) }},
		{"mig", "GPU on|off", "MIG mode, with one instance",
			func(n *node.Node, a []string) error {
				return onOff(a[1], func(on bool) error { return n.MIG(a[0], on) })
			}},
		{"mig-idle", "GPU GI,GI|none", "GPU instances that show no activity; the others show the GPU's", migIdle},
		{"mismatch", "on|off", "driver and library of different versions", mismatch},
		{"drop-symbol", "LIB NAME", "copy the libraries of folder LIB without the function NAME; prints the copy's folder", dropSymbol},
		{"kmsg", "TEXT", "let the kernel log say it",
			func(n *node.Node, a []string) error { return n.Kmsg(a[0]) }},
		{"xid", "GPU CODE", "let those who wait for NVML's events hear of an XID",
			func(n *node.Node, a []string) error {
				return count(a[1], func(code int) error { return n.XID(a[0], node.XID{Code: code}) })
			}},
		{"xid", "GPU CODE GI CI", "the same of a MIG device", migXID},
		{"reset", "GPU", "what a GPU reset does: volatile counters at 0, a pending remap carried out, no recovery action",
			func(n *node.Node, a []string) error { return n.Reset(a[0]) }},
		{"reset-as", "GPU works|hangs|heals-nothing", "what nvidia-smi's reset does from now on",
			func(n *node.Node, a []string) error { return n.ResetAs(a[0], a[1], "") }},
		{"reset-as", "GPU fails TEXT", "let it fail, and nvidia-smi say TEXT",
			func(n *node.Node, a []string) error { return n.ResetAs(a[0], a[1], a[2]) }},
		{"reboot", "", "a new boot id, an empty kernel log, lost GPUs back",
			func(n *node.Node, _ []string) error { return n.Reboot() }},
	}
}

// valueCommands change any value that the driver tells of a GPU.
func valueCommands() []command {
	return []command{
		{"values", "", "list the names of a GPU's values", values},
		{"set", "GPU VALUE N", "let the driver tell N (mW, ns, °C, bytes, percent), or unsupported, unknown or blank",
			func(n *node.Node, a []string) error { return n.Set(a[0], a[1], a[2]) }},
		{"rate", "GPU VALUE N", "let it grow by N a second; 0 stops it",
			func(n *node.Node, a []string) error {
				return number(a[2], func(r float64) error { return n.Rate(a[0], a[1], r) })
			}},
		{"unknown", "GPU VALUE", "\"Unknown Error\" for it and all below: ecc is all of error correction",
			func(n *node.Node, a []string) error { return n.Fail(a[0], a[1]) }},
	}
}

// symptomCommands change the values that belong to one symptom.
func symptomCommands() []command {
	return []command{
		{"recovery", "GPU N", "what the driver wants done: 0 (none) to 7",
			func(n *node.Node, a []string) error {
				return count(a[1], func(action int) error { return n.Recovery(a[0], action) })
			}},
		{"remap", "GPU pending|failed|none", "row remapping",
			func(n *node.Node, a []string) error { return n.Remap(a[0], a[1]) }},
		{"ecc", "GPU dram|sram corrected|uncorrected N", "N more errors",
			func(n *node.Node, a []string) error {
				return count(a[3], func(more int) error { return n.ECC(a[0], a[1], a[2], more) })
			}},
		{"storm", "GPU N", "N correctable errors a second; 0 ends it",
			func(n *node.Node, a []string) error {
				return number(a[1], func(r float64) error { return n.Storm(a[0], r) })
			}},
		{"retire", "GPU single|double N", "N more retired pages",
			func(n *node.Node, a []string) error {
				return count(a[2], func(more int) error { return n.Retire(a[0], a[1], more) })
			}},
		{"clocks", "GPU N", "why the clocks are low: 1 idle, 4 power cap, 8 hardware, 32 and 64 thermal, 128 power brake",
			func(n *node.Node, a []string) error { return n.Set(a[0], "clocks.reasons", a[1]) }},
		{"temp", "GPU N", "temperature in °C",
			func(n *node.Node, a []string) error { return n.Set(a[0], "temperature", a[1]) }},
		{"pcie", "GPU GEN WIDTH", "the link's generation and width", pcie},
		{"util", "GPU PERCENT", "how busy it is, with one process; 0 is idle, and none",
			func(n *node.Node, a []string) error {
				return count(a[1], func(percent int) error { return n.Work(a[0], percent) })
			}},
		{"activity", "GPU idle|busy|ghost|wedged", "utilisation, SMs, tensor cores, memory and power of a kind; ghost is utilisation alone, wedged is SMs alone",
			func(n *node.Node, a []string) error { return n.Activity(a[0], a[1]) }},
	}
}

func usage() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  help\tprint this")
	fmt.Fprintln(w, "  init PROFILE\tmake the node, for example of hgx-h100")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	_ = w.Flush() // into memory
	return b.String()
}

func run(dir string, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "help":
		fmt.Print(usage())
		return nil
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
