// Command catalog turns the reviewed tables of XIDs, SXids and the NVLink 5
// decode into Go and into docs/xids.md.
//
// Run it with `go generate ./tools/catalog` after an edit of a table; a test
// fails while the files are stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: catalog ROOT")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(root, path), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate gives the text of every generated file by its path below root.
func generate(root string) (map[string][]byte, error) {
	xids, err := readXIDs(filepath.Join(root, "xidparse/catalog.csv"))
	if err != nil {
		return nil, err
	}
	sxids, err := readSXIDs(filepath.Join(root, "xidparse/sxid.csv"))
	if err != nil {
		return nil, err
	}
	rules, err := readRules(filepath.Join(root, "nvlink/decode.csv"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"docs/xids.md": docs(xids, sxids)}
	for path, body := range map[string]string{
		"xidparse/zz_catalog.go": xidTable(xids),
		"xidparse/zz_sxid.go":    sxidTable(sxids),
		"nvlink/zz_decode.go":    ruleTable(rules),
	} {
		if files[path], err = source(path, body); err != nil {
			return nil, err
		}
	}
	return files, nil
}
