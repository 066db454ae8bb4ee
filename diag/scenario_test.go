package diag

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/golden"
)

// scenario reads a file of testdata: lines "level:", "exit:" and "gpus:" (the
// engine's numbers), prose behind #, an empty line, and then dcgmi's answer as it
// comes.
func scenario(in []byte) (o Outcome, err error) {
	head, out, found := bytes.Cut(in, []byte("\n\n"))
	if !found {
		return o, fmt.Errorf("no empty line behind the head")
	}
	exit := 0
	for line := range strings.Lines(string(head)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case strings.HasPrefix(line, "#"):
		case key == "level":
			o.Level, err = strconv.Atoi(value)
		case key == "exit":
			exit, err = strconv.Atoi(value)
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
