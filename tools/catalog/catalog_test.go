package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./tools/catalog", path)
		}
	}
}

func TestSymptomsAreInTheTable(t *testing.T) {
	xids, err := readXIDs(filepath.Join(root, "xidparse/catalog.csv"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]bool{}
	for _, x := range xids {
		known[x.code] = true
	}
	for _, x := range xids {
		for _, cause := range x.symptomOf {
			if !known[cause] || cause == x.code {
				t.Errorf("XID %d is a symptom of %d", x.code, cause)
			}
		}
	}
}

func TestBadTables(t *testing.T) {
	const (
		xidHead  = "code,name,meaning,fault,architectures,radius,action,diag,symptom_of,source,note\n"
		sxidHead = "code,name,meaning,class\n"
		ruleHead = "xid,unit_v1,unit_v2,subcode_v1,subcode_v2,reason,error_status,severity,action,promotable,blame,investigate\n"
	)
	xids := func(path string) error { _, err := readXIDs(path); return err }
	sxids := func(path string) error { _, err := readSXIDs(path); return err }
	rules := func(path string) error { _, err := readRules(path); return err }
	tests := []struct {
		read       func(string) error
		text, want string
	}{
		{xids, "", "EOF"},
		{xids, "code,name\n", "columns"},
		{xids, xidHead + "1,A\n", "wrong number of fields"},
		{xids, xidHead + "x,A,m,gpu,,gpu,record,0,,s,\n", `table.csv:2: code is "x", want a number`},
		{xids, xidHead + "1,,m,gpu,,gpu,record,0,,s,\n", `name is ""`},
		{xids, xidHead + "1,A,m,fate,,gpu,record,0,,s,\n", `fault is "fate"`},
		{xids, xidHead + "1,A,m,gpu,,all,record,0,,s,\n", `radius is "all"`},
		{xids, xidHead + "1,A,m,gpu,,gpu,panic,0,,s,\n", `action is "panic"`},
		{xids, xidHead + "1,A,m,application,,gpu,reset,0,,s,\n", `action is "reset"`},
		{xids, xidHead + "1,A,m,gpu,,gpu,reset,1,,s,\n", `diag is "1"`},
		{xids, xidHead + "1,A,m,gpu,,gpu,reset,2,48;94,s,\n", `symptom_of is "48;94"`},
		{xids, xidHead + "2,A,m,gpu,,gpu,reset,2,,s,\n2,B,m,gpu,,gpu,reset,2,,s,\n", `table.csv:3: code is "2"`},
		{sxids, sxidHead + "1,A,m,Fatal\n", `class is "Fatal"`},
		{rules, ruleHead + "79,A,A,0,0,0,any,fatal,reset,no,link,\n", `xid is "79"`},
		{rules, ruleHead + "149,A,A,0x20,0,0,any,fatal,reset,no,link,\n", `subcode_v1 is "0x20"`},
		{rules, ruleHead + "149,A,A,0,0,0,some,fatal,reset,no,link,\n", `error_status is "some"`},
		{rules, ruleHead + "149,A,A,0,0,0,any,Fatal,reset,no,link,\n", `severity is "Fatal"`},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := tt.read(path)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "table.csv") {
			t.Errorf("%q: error %v, want …%s…", tt.text, err, tt.want)
		}
	}
}
