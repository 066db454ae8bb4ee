// Command faults writes docs/faults.md from the rules of package fault.
//
// Run it with `go generate ./tools/faults` after a change of the rules; a test
// fails while the document is stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

// document is the path below the repository's root.
const document = "docs/faults.md"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: faults ROOT")
		os.Exit(2)
	}
	if err := os.WriteFile(filepath.Join(os.Args[1], document), docs(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}
