package diag

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The codes are those of the facts that the project is built from.
func TestCodesAreDCGMs(t *testing.T) {
	file, err := os.Open("../../shared/facts/dcgm_error_codes.csv")
	if err != nil {
		t.Skipf("facts are not here: %v", err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows)-1 != len(codes) {
		t.Fatalf("%d codes, want %d", len(codes), len(rows)-1)
	}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := "DCGM_FR_" + codeName(n); got != row[1] {
			t.Errorf("code %d is %s, want %s", n, got, row[1])
		}
		if got := strings.ToUpper(codes[n].severity.String()); got != row[2] {
			t.Errorf("severity of code %d is %s, want %s", n, got, row[2])
		}
		software := strings.HasPrefix(row[3], "SOFTWARE") || strings.HasPrefix(row[3], "INTERNAL")
		if codes[n].software != software {
			t.Errorf("code %d is software: %v, want %v", n, codes[n].software, software)
		}
	}
}

func TestUnknownCodes(t *testing.T) {
	for _, n := range []int{-1, len(codes), 1 << 40} {
		if codeName(n) != "" || codeSeverity(n) != SeverityUnknown || codeSoftware(n) {
			t.Errorf("code %d is known", n)
		}
	}
	if s := Severity(9); s.String() != "unknown" || !s.row().fails {
		t.Errorf("severity 9 is %s", s)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"4.5.0", "4.5.1", true}, {"4.5.1", "4.5.1", false}, {"4.10.0", "4.9.9", false}, {"3.3", "3.3.1", true},
		{"4.5.0-rc1", "4.5.0", false}, {"4", "4.0.0", false}, {"", "4.0.0", true},
	} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("older(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

// What the levels must have, spelled out: a test that falls out of the table would
// let a level pass without it.
func TestLevelsRequire(t *testing.T) {
	for _, version := range []string{"", "3.3.9", "4.4.2", "4.6.0"} {
		for level, want := range map[int]string{
			1: "software",
			2: "software memory pcie",
			3: "software memory pcie diagnostic memory_bandwidth targeted_stress targeted_power",
			4: "software memory pcie diagnostic memory_bandwidth targeted_stress targeted_power memtest pulse_test",
		} {
			var must []string
			for _, e := range expect(level, version) {
				if e.only == "" {
					must = append(must, e.name)
				}
			}
			if got := strings.Join(must, " "); got != want {
				t.Errorf("level %d of %q requires %s, want %s", level, version, got, want)
			}
		}
	}
}
