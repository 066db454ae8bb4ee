package main

import (
	"os"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{
		"init hgx-h100", "show", "lose 0", "break 1", "restore 1", "hang nvmlDeviceGetName forever",
		"hang * 43:00 1.5", "recovery 2 1", "remap 3 pending", "mismatch on", "kmsg text",
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
		"state = lost", "hang.nvmlDeviceGetName = forever", "hang.* = 1.5", "recovery = 1", "remap = pending", "mismatch = on",
	} {
		if !strings.Contains(string(conf), want) {
			t.Errorf("node.conf has no %q", want)
		}
	}
	if err := run(dir, []string{"reboot"}); err != nil {
		t.Error(err)
	}
}

func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, []string{"show"}); err == nil {
		t.Error("show without a node is accepted")
	}
	if err := run(dir, []string{"init", "hgx-h100"}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"", "fly", "lose", "lose 0 1", "hang nvmlDeviceGetName soon", "hang nvmlDeviceGetName -1",
		"recovery 0 high", "mismatch perhaps", "init hgx-h100",
	} {
		if err := run(dir, strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	if err := run("", []string{"show"}); err == nil {
		t.Error("no folder is accepted")
	}
}
