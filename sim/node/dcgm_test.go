package node

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestDCGMStartForgetsXIDs(t *testing.T) {
	n := newNode(t)
	d := n.DCGM()
	if err := d.Kill(); err == nil || !strings.Contains(err.Error(), "dcgm.conf") {
		t.Errorf("error %v, want it to say that there is no engine", err)
	}
	must(t, d.Start("localhost:5555"))
	first := read(t, n.path(dcgmFile))
	must(t, d.XID("43:00", 79))
	must(t, d.KmsgXID("1", 43))
	must(t, d.Kill())
	for _, want := range []string{"engine = down", "xid.1 = 79 ", "xid.2 = 43 ", "violation.1 = 1 xid 79"} {
		if text := read(t, n.path(dcgmFile)); !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	must(t, d.Start("localhost:5555"))
	want := strings.Replace(first, "generation = 1", "generation = 2", 1)
	if text := read(t, n.path(dcgmFile)); text != want {
		t.Errorf("started anew:\n%s\nwant\n%s", text, want)
	}
}

func TestDCGMUndo(t *testing.T) {
	n := newNode(t)
	d := n.DCGM()
	must(t, d.Start("localhost:5555"))
	before := read(t, n.path(dcgmFile))
	must(t, d.Field("0", 150, "90"))
	must(t, d.Fail("dcgmHealthCheck", -34))
	must(t, d.Hang("dcgmHealthCheck", time.Second))
	must(t, d.Stop())
	must(t, d.Field("0", 150, ""))
	must(t, d.Fail("dcgmHealthCheck", 0))
	must(t, d.Hang("dcgmHealthCheck", 0))
	must(t, d.Continue())
	if after := read(t, n.path(dcgmFile)); after != before {
		t.Errorf("all undone, and yet the file differs:\n%s", after)
	}
}

func TestDCGMRefused(t *testing.T) {
	n := newNode(t)
	d := n.DCGM()
	must(t, d.Start("localhost:5555"))
	for what, err := range map[string]error{
		"unknown GPU":   d.Blank("99", true),
		"unknown key":   d.Set("colour", "red"),
		"empty value":   d.Set("engine", ""),
		"no DCGM call":  d.Fail("nvmlInit_v2", -1),
		"no DCGM hang":  d.Hang("*", time.Second),
		"XID of no GPU": d.XID("", 79),
	} {
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	must(t, os.Remove(n.path(controlFile)))
	must(t, os.Remove(n.path(dcgmFile)))
	if err := d.Start("localhost:5555"); err == nil {
		t.Error("an engine without a node is started")
	}
}
