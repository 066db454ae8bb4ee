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
		"help", "values", "fail nvmlDeviceGetUUID 999", "fail * 5 15", "crash nvmlDeviceGetName 6", "crash nvmlSystemGetDriverVersion", "mig 1 on", "mig-idle 1 7,9", "set 4 power 650000", "rate 4 pcie.replays 2.5", "unknown 5 ecc", "ecc 6 sram uncorrected 2",
		"storm 6 60", "clocks 7 64", "temp 7 91", "pcie 7 3 8", "util 7 95", "activity 5 wedged", "xid 7 48", "xid 7 94 3 0",
		"diag-set version 3.3.9", "diag-result 1 memory Fail 52 2 bad", "diag-result 2 pcie Skip", "diag-busy forever", "diag-stop", "diag-busy 30",
		"set 0 retired.double 0", "retire 0 double 2", "reset 3", "remap 3 pending", "reset-as 3 hangs", "reset-as 4 fails refused",
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
		"power = 650000", "fail.nvmlDeviceGetUUID = 999", "fail.* = 15", "fail.nvmlDeviceGetName = crash", "fail.nvmlSystemGetDriverVersion = crash", "mig = on", "mig.idle = 7 9", "pcie.replays = 0 +2.5/s @", "ecc.enabled = unknown", "ecc.aggregate.sram.uncorrected = 2",
		"ecc.volatile.dram.corrected = 0 +60/s @", "clocks.reasons = 0", "temperature = 91", "pcie.width = 8",
		"gpm.sm = 95", "gpm.dram = 0.2", "power = 133000", "xid.1 = 7 48", "xid.2 = 7 94 3 0", "retired.double = 2", "remap.uncorrectable = 1", "reset = hangs", "reset = fails refused",
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
		"set 0 colour 1", "set 0 power green", "set 9 power 1", "rate 0 power fast", "rate 0 retired.double 1",
		"unknown 0 colour", "ecc 0 flash corrected 1", "ecc 0 dram corrected -1", "retire 0 triple 1", "util 0 101", "activity 0 frantic",
		"diag-set colour red", "diag-result 0 memory Broken", "diag-result 9 memory Pass", "diag-result 0 memory Fail x 2 bad", "diag-busy soon",
		"xid 0 none", "fail open 1", "crash open", "mig 0 perhaps", "mig-idle 0 7,x", "fail * soon", "drop-symbol /nowhere nvmlDeviceGetName",
		"reset-as 0 slowly", "reset-as 0 fails", "reset-as 0 works well",
	} {
		if err := run(dir, strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	if err := run("", []string{"show"}); err == nil {
		t.Error("no folder is accepted")
	}
}
