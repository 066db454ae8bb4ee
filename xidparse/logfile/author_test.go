package logfile

import (
	"slices"
	"strings"
	"testing"
)

// Every indented line behind a message's first belongs to the first's author.
func TestAuthor(t *testing.T) {
	const deep = "\n                           "
	users := []string{
		"Nov 30 00:53:20 n1 app[8]: hello",
		"Nov 30 00:53:20.010000 n1 app: hello",
		"Mon 2026-11-30 00:53:20 UTC n1 app[8]: hello",
		"2026-11-30T00:53:20+0000 n1 app[8]: hello",
		"2026-11-30T00:53:20.010000+00:00 n1 app[8]: hello",
		"1764463987.010000 n1 app[8]: hello",
		"[  100.000000] n1 app[7]: hello",
		"[  100.000000] n1 app: hello",
		"[  100.000000 <    0.000004 >] n1 app[7]: hello",
		"[2026-11-29 10:11:12] app: got",
		"Nov 30 00:53:20 n1 app[7]: \x1b[0;1mhello\x1b[0m",
		"\x1b[32m[  100.000000] \x1b[0mn1 app: hello",
		`{"_TRANSPORT":"stdout","MESSAGE":"hello"}`,
	}
	quotes := []string{gone, "\x1b[0;1m" + gone + "\x1b[0m", "[  100.0] " + gone, "Nov 30 00:53:20 n1 kernel: " + gone, "4,1,2,-;" + gone}
	for _, first := range users {
		for _, quote := range quotes {
			for _, between := range []string{"", deep + "second", deep, "\n", "\n\t"} {
				log := first + between + deep + quote + deep + quote
				for _, m := range read(t, strings.NewReader(log), Options{}) {
					if strings.Contains(m, " kernel NVRM") {
						t.Errorf("%q: believed %q", log, m)
					}
				}
			}
		}
	}
	for _, log := range []string{
		"Nov 30 00:53:20 n1 app[8]: hello" + deep + "second\nNov 30 00:53:20 n1 kernel: " + gone,
		"Nov 30 00:53:20 n1 kernel: several:" + deep + gone,
		"[  100.000000] NVRM: several lines:" + deep + gone,
		"    " + gone,
		"    Nov 30 00:53:20 n1 app[8]: hello\n    Nov 30 00:53:20 n1 kernel: " + gone,
	} {
		got := read(t, strings.NewReader(log), Options{})
		if !slices.ContainsFunc(got, func(m string) bool { return strings.HasSuffix(m, " kernel "+gone) }) {
			t.Errorf("%q: not heard in %q", log, got)
		}
	}
}
