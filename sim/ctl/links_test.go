package main

import (
	"os"
	"strings"
	"testing"
)

func TestRunLinks(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{
		"init gb200-tray", "link 0 5 down", "link 0 6 down", "link 0 6 up", "link-set 1 3 received 7", "recoveries 1 3 ok 5",
		"recoveries 1 3 failed 1", "ber 2 17 2e-12", "fabric 3 in-progress 0", "fabric-health 2 0x1a9 2",
	} {
		if err := run(dir, strings.Fields(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	conf, err := os.ReadFile(dir + "/node.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nlink.5.state = 0\n", "\nlink.6.state = 1\n", "\nlink.3.received = 7\n", "\nlink.3.recoveries = 6\n", "\nlink.3.recovered = 5\n",
		"\nlink.3.recovery-failed = 1\n", "\nlink.17.ber = 524\n", "\nfabric.state = 2\n", "\nfabric.mask = 425\n", "\nfabric.summary = 2\n",
	} {
		if !strings.Contains(string(conf), want) {
			t.Errorf("node.conf has no %q", want)
		}
	}
	for _, line := range []string{
		"link 0 18 down", "link 0 1 sideways", "link-set 0 1 colour 3", "link-set 0 1 state green", "recoveries 0 1 perhaps 1",
		"ber 0 1 2", "fabric 0 lost 0", "fabric-health 0 mask 1",
	} {
		if err := run(dir, strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

func TestNoLinks(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, []string{"init", "pcie-l40s"}); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, strings.Fields("link 0 0 down")); err == nil {
		t.Error("a link of a GPU without any is taken down")
	}
}
