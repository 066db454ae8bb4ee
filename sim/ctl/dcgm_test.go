package main

import (
	"os"
	"strings"
	"testing"
)

func TestRunDCGM(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{
		"init hgx-h100", "dcgm-start localhost:5555", "dcgm-set switches 4", "dcgm-field 0 150 90", "dcgm-blank 1 on",
		"dcgm-xid 2 79", "dcgm-kmsg-xid 3 43", "dcgm-violation 4 power 900", "dcgm-incident 3 3 0x800 109 20",
		"dcgm-fail dcgmHealthCheck -34", "dcgm-hang dcgmHealthCheck 60",
	} {
		if err := run(dir, strings.Fields(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	conf, err := os.ReadFile(dir + "/dcgm.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"address = localhost:5555", "switches = 4", "field.150 = 90", "blank = on", "xid.1 = 79 ", " driver", "xid.1 = 43 ", " kmsg",
		"violation.2 = 4 power 900", "incident.1 = 3 3 0x800 109 20", "fail.dcgmHealthCheck = -34", "hang.dcgmHealthCheck = 60",
	} {
		if !strings.Contains(string(conf), want) {
			t.Errorf("dcgm.conf has no %q", want)
		}
	}
	for _, line := range []string{"dcgm-blank 0 perhaps", "dcgm-xid 0 high", "dcgm-set colour red", "dcgm-field 0 temperature 90"} {
		if err := run(dir, strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
