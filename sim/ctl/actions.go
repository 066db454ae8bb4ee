package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

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

func migIdle(n *node.Node, args []string) error {
	if args[1] == "none" {
		return n.Idle(args[0])
	}
	var ids []int
	for _, word := range strings.Split(args[1], ",") {
		id, err := strconv.Atoi(word)
		if err != nil || id < 0 {
			return fmt.Errorf("GPU instance %q: want a number such as 7", word)
		}
		ids = append(ids, id)
	}
	return n.Idle(args[0], ids...)
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

func mismatch(n *node.Node, args []string) error {
	if args[0] != "on" && args[0] != "off" {
		return fmt.Errorf("mismatch %q: want on or off", args[0])
	}
	return n.Mismatch(args[0] == "on")
}

func values(n *node.Node, _ []string) error {
	names, err := n.Values()
	for _, name := range names {
		fmt.Println(name)
	}
	return err
}

func dropSymbol(n *node.Node, args []string) error {
	folder, err := n.DropSymbol(args[0], args[1])
	if err == nil {
		fmt.Println(folder)
	}
	return err
}

func migXID(n *node.Node, args []string) error {
	return count(args[1], func(code int) error {
		return count(args[2], func(gi int) error {
			return count(args[3], func(ci int) error {
				return n.XID(args[0], node.XID{Code: code, GI: &gi, CI: &ci})
			})
		})
	})
}

func pcie(n *node.Node, args []string) error {
	return count(args[1], func(gen int) error {
		return count(args[2], func(width int) error { return n.PCIe(args[0], gen, width) })
	})
}

// count reads a whole number, 0 or more, for do.
func count(text string, do func(int) error) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("%q: want a whole number", text)
	}
	return do(int(n))
}

// number reads a number for do.
func number(text string, do func(float64) error) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q: want a number", text)
	}
	return do(n)
}
