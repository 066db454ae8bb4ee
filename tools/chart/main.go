// Command chart writes the templates of deploy/chart from the manifests of deploy, and its
// config.yaml from packaging/config.yaml.
//
// Run it with `go generate ./tools/chart` after a change of one of them; a test fails while
// a file is stale. What differs by a value is in templates.go; helpers, values and their
// schema are written by hand.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

// folder is the chart below the repository's root.
const folder = "deploy/chart"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: chart ROOT")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := files(root)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(root, folder, path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files gives what is written, by path below the chart.
func files(root string) (map[string]string, error) {
	config, err := os.ReadFile(filepath.Join(root, "packaging/config.yaml"))
	if err != nil {
		return nil, err
	}
	all := map[string]string{"config.yaml": string(config)}
	m := &manifests{folder: filepath.Join(root, "deploy")}
	for name, text := range templates(m) {
		all[filepath.Join("templates", name)] = text
	}
	return all, m.err
}
