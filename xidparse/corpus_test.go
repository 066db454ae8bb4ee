package xidparse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// corpusPath is a labelled corpus of public lines that stands beside the
// checkout where the project is developed.
const corpusPath = "../../shared/facts/kernel_lines.tsv"

// corpus gives the rows kind, number, pci, gpu instance, compute instance, line.
func corpus(tb testing.TB) [][]string {
	tb.Helper()
	text, err := os.ReadFile(corpusPath)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("no corpus at %s", corpusPath)
	}
	if err != nil {
		tb.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if row := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 6); len(row) == 6 {
			rows = append(rows, row)
		}
	}
	return rows[1:]
}

func TestCorpus(t *testing.T) {
	for i, row := range corpus(t) {
		line := Cut([]byte(row[5]))
		got := []string{"none", "", "", "", ""}
		if e, ok := Parse(string(line.Text)); ok && line.Kernel && labelled(e.Kind) {
			got = []string{e.Kind.String(), strconv.Itoa(e.Code), e.PCI.String(), instance(e.GPUInstance), instance(e.ComputeInstance)}
		}
		if strings.Join(got, " ") != strings.Join(row[:5], " ") {
			t.Errorf("row %d: got %q, want %q\n%s", i+1, got, row[:5], row[5])
		}
	}
}

// labelled says whether the corpus labels this kind; the others it calls none.
func labelled(k Kind) bool { return k == KindXID || k == KindSXID || k == KindOffBus }

func instance(n int) string {
	if n == Absent {
		return ""
	}
	return fmt.Sprintf("%02d", n) // as the driver prints it
}
