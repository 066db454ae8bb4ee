package xidparse

import (
	"fmt"
	"testing"
)

func describeLine(input string) []string {
	line := Cut([]byte(input))
	writer := "kernel"
	if !line.Kernel {
		writer = "user"
	}
	got := []string{fmt.Sprintf("%s %d %q", writer, line.Facility, line.Text)}
	if e, ok := Parse(string(line.Text)); ok && line.Kernel {
		got = append(got, describe(e))
	}
	return got
}

func TestCutLines(t *testing.T) {
	goldenFile(t, "testdata/lines.txt", describeLine)
}

// The same message is the same event behind every prefix.
func TestEventNeverDependsOnPrefix(t *testing.T) {
	prefixes := []string{
		"4,1,2,-;", "[    1.5] ", "[    1.5] [   T12] ", "<4>[    1.5] ", "[Sun Feb 23 16:24:18 2025] ",
		"kern  :warn  : [    1.5] ", "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ", "2025-01-21T04:41:44,283302+00:00 ",
		"Aug 10 15:36:05 n kernel: ", "Aug 10 15:36:05 n kernel: [    1.5] ", "2026-10-09T10:15:22+0200 n kernel: ",
		"<4>1 2026-10-09T10:15:22.003Z n kernel - - - ", "n: kern: warning: [2026-04-22T21:27:51.2Z]: ", "kernel: ",
	}
	for _, s := range readGolden(t, "testdata/messages.txt") {
		bare, ok := Parse(string(UnescapeKmsg(nil, []byte(s.input))))
		if !ok {
			continue
		}
		for i, prefix := range prefixes {
			text := s.input
			if i > 0 {
				text = string(UnescapeKmsg(nil, []byte(text)))
			}
			line := Cut([]byte(prefix + text))
			if e, _ := Parse(string(line.Text)); !line.Kernel || describe(e) != describe(bare) {
				t.Errorf("behind %q\n got %s\nwant %s", prefix, describe(e), describe(bare))
			}
		}
	}
}
