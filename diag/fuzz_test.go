package diag

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"
)

// FuzzRead: whatever dcgmi writes, the reading is bounded and sane, and a pass
// needs every test of the level on that GPU. The seeds are the scenarios: both
// generations, and all that goes wrong with them.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := scenario(in); err != nil {
			f.Fatalf("%s: %v", file, err)
		}
		f.Add(in, 0)
		f.Add(in[:len(in)/2], 226)
	}
	f.Fuzz(func(t *testing.T, out []byte, exit int) {
		r := Read(out, exit)
		for level := 1; level <= 4; level++ {
			o := Outcome{Level: level, Report: r, GPUs: []GPU{{ID: 0, UUID: "GPU-a"}, {ID: 1, UUID: "GPU-b"}}}
			o.Findings = Judge(r, level, o.GPUs)
			for i, finding := range o.Findings {
				check(t, o, o.GPUs[i], finding)
			}
			if table := o.Table(); !utf8.ValidString(table) {
				t.Errorf("table is no UTF-8: %q", table)
			}
			if _, err := json.Marshal(o); err != nil {
				t.Error(err)
			}
		}
	})
}

// check holds a finding against the report, without Judge's ways.
func check(t *testing.T, o Outcome, g GPU, f Finding) {
	if slices.Index(strength[:], f.Verdict) < 0 {
		t.Errorf("verdict %q", f.Verdict)
	}
	if f.Verdict != Passed && len(f.Reasons) == 0 {
		t.Errorf("%s without a reason", f.Verdict)
	}
	if f.Verdict == Passed {
		if o.Report.Broken != "" || o.Report.Runtime != "" || len(o.Report.Runs) == 0 || o.Report.Exit < 0 {
			t.Errorf("pass of %+v", o.Report)
		}
		for _, name := range []string{"software", "memory", "pcie", "diagnostic", "memtest"}[:[]int{1, 3, 4, 5}[o.Level-1]] {
			if !passes(o.Report, name, g.ID) {
				t.Errorf("level %d pass without %s on %d: %+v", o.Level, name, g.ID, o.Report)
			}
		}
	}
	if f.Verdict == Failed && !fails(o.Report, g.ID) {
		t.Errorf("fail of GPU %d, which fails nothing: %+v", g.ID, o.Report)
	}
}

// passes: a test of that name says pass of the GPU, or of no GPU in particular.
func passes(r Report, name string, id int) bool {
	return anyResult(r, func(test Test, result Result) bool {
		return test.Name == name && result.Status == StatusPass && (result.ID == id || test.Part != "")
	})
}

// fails: a test says fail of the GPU.
func fails(r Report, id int) bool {
	return anyResult(r, func(_ Test, result Result) bool {
		return result.Status == StatusFail && result.ID == id
	}) || anyPart(r)
}

// anyPart: DCGM 3's software test failed and names nobody.
func anyPart(r Report) bool {
	return anyTest(r, func(test Test) bool { return test.Part != "" && test.Status == StatusFail })
}

func anyTest(r Report, want func(Test) bool) bool {
	return slices.ContainsFunc(r.Runs, func(run Run) bool { return slices.ContainsFunc(run.Tests, want) })
}

// anyResult goes over the results, and over the tests without any as results of
// their own.
func anyResult(r Report, want func(Test, Result) bool) bool {
	return anyTest(r, func(test Test) bool {
		if len(test.Results) == 0 {
			return want(test, Result{ID: -1, Status: test.Status})
		}
		return slices.ContainsFunc(test.Results, func(result Result) bool { return want(test, result) })
	})
}
