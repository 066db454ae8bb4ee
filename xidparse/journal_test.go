package xidparse

import (
	"fmt"
	"testing"
)

// slowJournal reads an entry with encoding/json alone.
func slowJournal(s []byte) (Line, bool) {
	var entry journalEntry
	if !entry.unmarshal(s) {
		return Line{}, false
	}
	return entry.line(), true
}

func checkScan(t *testing.T, s []byte) {
	t.Helper()
	var entry journalEntry
	if !entry.scan(s) {
		return
	}
	want, ok := slowJournal(s)
	if got := entry.line(); !ok || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%q\n got %+v\nwant %+v, %t", s, got, want, ok)
	}
}

var entries = []string{
	`{"_TRANSPORT":"kernel","MESSAGE":"a"}`,
	`{ "_TRANSPORT" : "kernel" , "MESSAGE" : "a \"b\" \u00e9\n" , "X":"\ud800\/" }`,
	`{"_TRANSPORT":"kernel","MESSAGE":"a","MESSAGE":"b"}`,
	`{"_TRANSPORT":"kernel","SYSLOG_FACILITY":"","MESSAGE":""}`,
	`{"_TRANSPORT":"kernel","MESSAGE":"\ud800 lone"}`,
	"{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"\xff\"}",
	"{\"_TRANSPORT\":\"kernel\",\"X\":\"\xff\",\"MESSAGE\":\"a\"}",
	`{"_TRANSPORT":"kernel","MESSAGE":"a","X":null}`,
	`{"_transport":"kernel","message":"a"}`,
	`{"log":"NVRM: a\n","stream":"stdout","time":"2026-11-30T00:53:20Z"}`,
	`{"MESSAGE":"a","_TRANSPORT":"kernel"}x`, `{"MESSAGE":"\x"}`, `{"MESSAGE":"a",}`, `{}`, `{`, `{"`, `{"a`, `{"a":`, `{"a":"\u12`,
}

// The scanner reads what encoding/json reads, or leaves it to that.
func TestScanIsExact(t *testing.T) {
	scanned := 0
	for _, s := range entries {
		checkScan(t, []byte(s))
		if new(journalEntry).scan([]byte(s)) {
			scanned++
		}
	}
	if scanned < 4 {
		t.Errorf("only %d entries are scanned", scanned)
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range entries {
		f.Add([]byte(s))
	}
	f.Fuzz(checkScan)
}

func BenchmarkJournal(b *testing.B) {
	line := []byte(`{"_TRANSPORT":"kernel","__CURSOR":"s=6e3a;i=1f;b=09;m=5;t=6;x=7","__REALTIME_TIMESTAMP":"1757422415123456","__MONOTONIC_TIMESTAMP":"99",` +
		`"_SOURCE_MONOTONIC_TIMESTAMP":"14650646","_BOOT_ID":"0123456789abcdef0123456789abcdef","_MACHINE_ID":"0123456789abcdef0123456789abcdef","_HOSTNAME":"n1",` +
		`"PRIORITY":"4","SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"` + line79 + `"}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if cut := Cut(line); !cut.Kernel || string(cut.Text) != line79 {
			b.Fatalf("%+v", cut)
		}
	}
}
