// Command gpuhealthd watches the GPUs of one node and decides when the node
// must leave service. This package holds flags and wiring only.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
)

func main() {
	if err := root().Execute(); err != nil {
		if text := printable(err); text != "" {
			fmt.Fprintln(os.Stderr, "gpuhealthd:", text)
		}
		os.Exit(exitCode(err))
	}
}

// printable is an error's text, which may name a file that somebody has named
// with controls of a terminal; its line breaks stay.
func printable(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = replay.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
