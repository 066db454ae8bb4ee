// Command ctl makes a simulated GPU node and plays faults into it while
// processes use it.
//
//	ctl -dir DIR COMMAND [ARGUMENT]…
//
// Run it without a command for the list. GPU is an index, a UUID or a PCI
// address.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	dir := flag.String("dir", "", "the node's `folder`")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "Usage: ctl -dir DIR COMMAND [ARGUMENT]…\n\n", usage())
	}
	flag.Parse()
	if err := run(*dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ctl:", err)
		os.Exit(1)
	}
}
