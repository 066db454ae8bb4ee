// Command gpuhealthd watches the GPUs of one node and decides when the node
// must leave service. This package holds flags and wiring only.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := root().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "gpuhealthd:", err)
		os.Exit(exitCode(err))
	}
}
