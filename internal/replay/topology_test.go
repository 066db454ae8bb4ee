package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const twoBoards = `# two boards of two, and a GPU beside them
nvlink: 4
gpus: [0000:1b:00, 0000:1c:00.0, 00000000:3B:00, "0001:1b:00", 0000:e1:00]
baseboards:
  - [0000:1b:00, 0000:1c:00]
  - [0000:3b:00, 0001:1b:00]
`

func TestParseTopology(t *testing.T) {
	topology, err := ParseTopology("node.yaml", []byte(twoBoards))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := topology.String(), "node.yaml, 5 GPUs, NVLink 4, 2 baseboards"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for text, want := range map[string]string{
		"":                                 "node.yaml: empty",
		"- a":                              "node.yaml:1: topology: not a list of fields",
		"gpus: 3":                          "node.yaml:1: gpus: not a list",
		"gpus: []":                         "node.yaml:1: gpus: not a list",
		"nvlink: 4":                        "node.yaml:1: gpus: missing",
		"nvlink: four\ngpus: [0000:1b:00]": `node.yaml:1: nvlink: "four" is not a number from 0 to 9`,
		"gpus: [0000:1b:20]":               `node.yaml:1: gpus: "0000:1b:20" names the device 0x20`,
		"gpus:\n- 0000:1b:00\n- 1b":        `node.yaml:3: gpus: "1b" is not a PCI address`,
		"gpus:\n- 0000:1b:00\n- 0:1b:00":   "node.yaml:3: gpus: 0000:1b:00 is listed twice",
		"gpus: [0000:1b:00]\ngpu: 1":       "node.yaml:2: gpu: no such field",
		"trays: 1\ntrays: 2":               "node.yaml:2: trays: given twice",
		"nvlink: 4\ngpus: [0:1:0]\nbaseboards: [[0000:1b:00]]": `node.yaml:2: gpus: "0:1:0" is not a PCI address`,
		"nvlink: 4\ngpus: [0:01:00]\nbaseboards: [[0:02:00]]":  "node.yaml:3: baseboards: 0000:02:00 is not among the gpus",
		"nvlink: 4\nbaseboards: [[0:02:00], [0:02:00]]":        "node.yaml:2: baseboards: 0000:02:00 is on two of them",
		"baseboards: [[0:02:00]]":                              "node.yaml:1: nvlink: missing or 0",
		"a: [":                                                 "node.yaml: yaml: ",
		"gpus: [0:01:00]\n---\nb: 1":                           "node.yaml: a second YAML document",
	} {
		_, err := ParseTopology("node.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestLoadTopology(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(path, []byte(twoBoards), 0o644); err != nil {
		t.Fatal(err)
	}
	if topology, err := LoadTopology(path); err != nil || len(topology.GPUs) != 5 {
		t.Errorf("%v, %v", topology, err)
	}
	if topology, err := LoadTopology("gb200-nvl72"); err != nil || topology.Trays != 18 {
		t.Errorf("%v, %v", topology, err)
	}
	if _, err := LoadTopology("hgx-h900"); err == nil || !strings.Contains(err.Error(), "hgx-h100, hgx-b200, gb200-nvl72, gb300-nvl72, pcie") {
		t.Errorf("%v", err)
	}
}

func FuzzTopology(f *testing.F) {
	f.Add([]byte(twoBoards))
	f.Add([]byte("gpus: &a [0000:1b:00]\nbaseboards: [*a]\nnvlink: 5\ntrays: 18"))
	f.Add([]byte("{gpus: [0:1b:00], trays: -1}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		topology, err := ParseTopology("f.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		node := topology.Node(nil)
		if len(node) == 0 || len(node) != len(topology.GPUs) {
			t.Errorf("%d GPUs from %d", len(node), len(topology.GPUs))
		}
		switched, _ := topology.Switched(nil)
		for _, a := range switched {
			if !slices.Contains(node, a) || !slices.Contains(topology.Baseboard(a, nil), a) {
				t.Errorf("%v is on a board, but not its own or not the node's", a)
			}
		}
	})
}
