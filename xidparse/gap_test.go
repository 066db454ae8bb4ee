package xidparse

import "testing"

func TestGap(t *testing.T) {
	for line, want := range map[string]uint64{
		"May 19 07:08:57 node-a systemd-journald[340]: Missed 12 kernel messages":                             12,
		`{"_TRANSPORT":"driver","SYSLOG_IDENTIFIER":"systemd-journald","MESSAGE":"Missed 7 kernel messages"}`: 7,
		"[   14.650646] systemd-journald[340]: Missed 3 kernel messages":                                      3,
		"[   14.650646] ** 4096 printk messages dropped **":                                                   4096,
		"** 5 printk messages dropped ** ":                                                                    5,
		"** 7 printk messages dropped ** [  100.0] " + line79:                                                 7,
		"May 19 07:08:57 node-a systemd-journald[340]: /dev/kmsg buffer overrun, some messages lost.":         0,
		"[   14.650646] n1 systemd-journald[340]: /dev/kmsg buffer overrun, some messages lost.":              0,
		"May 19 07:08:57 node-a kernel: [61B blob data]":                                                      1,
		"May 19 07:08:57 node-a kernel: [1.2K blob data]":                                                     1,
	} {
		if n, ok := Cut([]byte(line)).Gap(); !ok || n != want {
			t.Errorf("%q: %d, %t; want %d", line, n, ok, want)
		}
	}
	for _, line := range []string{"", "Missed 12 kernel messages again", "Missed kernel messages", "Missed x kernel messages",
		"n agent[9]: I Missed 12 kernel messages", "** printk messages dropped **",
		"May 19 07:08:57 node-a app[9]: [61B blob data]", "May 19 07:08:57 node-a kernel: [blob data]"} {
		if n, ok := Cut([]byte(line)).Gap(); ok {
			t.Errorf("%q is a gap of %d", line, n)
		}
	}
}
