package diag

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"
)

// scenario reads a file of testdata: lines "level:", "exit:", "gpus:" (the engine's
// numbers), "late:" or "off:" (why we ended it), prose behind #, an empty line, and
// then dcgmi's answer as it comes.
func scenario(in []byte) (o Outcome, err error) {
	head, out, found := bytes.Cut(in, []byte("\n\n"))
	if !found {
		return o, fmt.Errorf("no empty line behind the head")
	}
	exit := 0
	var stopped Stop
	for line := range strings.Lines(string(head)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.HasPrefix(line, "#"):
		case key == "level":
			o.Level, err = strconv.Atoi(value)
		case key == "exit":
			exit, err = strconv.Atoi(value)
		case key == "late", key == "off":
			stopped = Stop{Why: value, Late: key == "late"}
		case key == "gpus":
			for id := range strings.FieldsSeq(value) {
				n, err := strconv.Atoi(id)
				if err != nil {
					return o, err
				}
				o.GPUs = append(o.GPUs, GPU{ID: n, UUID: "GPU-0000000" + id})
			}
		default:
			err = fmt.Errorf("line %q", line)
		}
		if err != nil {
			return o, err
		}
	}
	o.Report = Read(out, exit)
	o.Report.Stopped = stopped
	o.Findings = Judge(o.Report, o.Level, o.GPUs)
	return o, nil
}

func TestScenarios(t *testing.T) {
	golden.Each(t, "testdata/*.txt", func(t *testing.T, in []byte) string {
		o, err := scenario(in)
		if err != nil {
			t.Fatal(err)
		}
		return o.Table()
	})
}

// What is worth waiting for is told from what is not, by number or by words.
func TestBusy(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario: %v", err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenario(in)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want := strings.HasSuffix(file, "in-use.txt"); o.Report.Busy() != want {
			t.Errorf("%s is busy: %v, want %v", file, o.Report.Busy(), want)
		}
	}
}
