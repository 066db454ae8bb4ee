// Command plan writes docs/plan.md and docs/plan.svg from the states of package
// remediate.
//
// Run it with `go generate ./tools/plan` after a change of the states; a test
// fails while a document is stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

// documents gives what is written, by path below the repository's root.
func documents() map[string][]byte {
	return map[string][]byte{"docs/plan.md": docs(), "docs/plan.svg": diagram()}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plan ROOT")
		os.Exit(2)
	}
	for path, text := range documents() {
		if err := os.WriteFile(filepath.Join(os.Args[1], path), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "plan:", err)
			os.Exit(1)
		}
	}
}
