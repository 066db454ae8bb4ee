package probe

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func TestUp(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Set("switches", "4"))
	up := start(t, n).kind(dcgm.KindUp).Up
	if up.Engine != "4.6.0" || up.Switches != 4 || len(up.GPUs) != 8 {
		t.Fatalf("%+v, want 4.6.0 with 8 GPUs and 4 switches", up)
	}
	for i, g := range up.GPUs {
		if want := (dcgm.Entity{Group: "gpu", ID: uint(i), UUID: uuid(t, n, i)}); g != want {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	lib := library(t)
	tests := []struct {
		name, engine, address string
		embedded              bool
	}{
		{"tcp", "node7:5556", "node7:5556", false},
		{"unix", "/run/dcgm.sock", "/run/dcgm.sock", false},
		{"unix://", "/run/dcgm.sock", "unix:///run/dcgm.sock", false},
		{"embedded", "localhost:5555", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			must(t, n.DCGM().Start(tt.engine))
			cfg := config()
			cfg.Address, cfg.Embedded = tt.address, tt.embedded
			if tt.embedded {
				must(t, n.DCGM().Kill()) // it needs no other engine
			}
			startWith(t, n, lib, cfg).kind(dcgm.KindUp)
		})
	}
}

// That DCGM is not there is a state, said once, and the end of the child: never
// a crash in a library that is not loaded.
func TestAbsent(t *testing.T) {
	lib := library(t)
	tests := []struct {
		name    string
		lib     string
		prepare func(d node.DCGM) error
		reason  dcgm.Reason
		code    int
	}{
		{"no library", t.TempDir(), func(node.DCGM) error { return nil }, dcgm.NoLibrary, 0},
		{"no engine", lib, func(d node.DCGM) error { return d.Kill() }, dcgm.NoEngine, 0},
		{"other address", lib, func(d node.DCGM) error { return d.Start("localhost:1") }, dcgm.NoEngine, 0},
		{"3.x", lib, func(d node.DCGM) error { return d.Set("mismatch", "on") }, dcgm.WrongVersion, -12},
		{"watch refused", lib, func(d node.DCGM) error { return d.Fail("dcgmWatchFields", -17) }, dcgm.NotWatched, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			must(t, tt.prepare(n.DCGM()))
			c := startWith(t, n, tt.lib, config())
			absent := c.kind(dcgm.KindAbsent).Absent
			if absent.Reason != tt.reason || absent.Code != tt.code || absent.Text == "" {
				t.Errorf("%+v, want %s with code %d and a text", absent, tt.reason, tt.code)
			}
			if exit := c.ended(); exit != 1 {
				t.Errorf("exit %d, want 1", exit)
			}
		})
	}
}

func TestEngineKilled(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.kind(dcgm.KindHealth)
	must(t, n.DCGM().Kill())
	absent := c.kind(dcgm.KindAbsent).Absent
	told := absent.Op != "dcgmGetEntityGroupEntities" // go-dcgm does not pass its code on
	if absent.Reason != dcgm.EngineLost || told && absent.Code != -21 {
		t.Errorf("%+v, want the engine lost with -21", absent)
	}
	c.ended()
}

func TestEngineRestarted(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.kind(dcgm.KindHealth)
	must(t, n.DCGM().Start(address))
	if absent := c.kind(dcgm.KindAbsent).Absent; absent.Reason != dcgm.EngineLost {
		t.Errorf("%+v, want the engine lost: its watches are", absent)
	}
	c.ended()
}

// A stopped engine holds the call; the library gives up in the end.
func TestEngineStopped(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Set("patience", "0.5"))
	c := start(t, n)
	c.kind(dcgm.KindHealth)
	must(t, n.DCGM().Stop())
	first := c.kind(dcgm.KindHung).Hung
	if !strings.HasPrefix(first.Call, "dcgm") || first.Seconds < deadline.Seconds() {
		t.Errorf("%+v, want a call past its deadline", first)
	}
	if again := c.kind(dcgm.KindHung).Hung; again.Call != first.Call || again.Seconds <= first.Seconds {
		t.Errorf("%+v after %+v, want the same call, longer", again, first)
	}
	if absent := c.kind(dcgm.KindAbsent).Absent; absent.Reason != dcgm.TimedOut && absent.Reason != dcgm.EngineLost {
		t.Errorf("%+v, want it timed out", absent)
	}
	c.ended()
}

func TestEngineStoppedBeforeAndContinued(t *testing.T) {
	n := newNode(t)
	must(t, n.DCGM().Stop())
	c := start(t, n)
	if h := c.kind(dcgm.KindHung).Hung; h.Call != "dcgmConnect" {
		t.Errorf("%+v, want the connection hung", h)
	}
	must(t, n.DCGM().Continue())
	c.kind(dcgm.KindHealth)
}

// A health check that takes long beside a degrading GPU is no end of anything.
func TestSlowCall(t *testing.T) {
	n := newNode(t)
	c := start(t, n)
	c.kind(dcgm.KindHealth)
	must(t, n.DCGM().Hang("dcgmHealthCheck", time.Hour))
	if h := c.kind(dcgm.KindHung).Hung; h.Call != "dcgmHealthCheck" {
		t.Errorf("%+v, want the health check", h)
	}
	must(t, n.DCGM().Hang("dcgmHealthCheck", 0))
	c.kind(dcgm.KindHealth)
}

func TestEnds(t *testing.T) {
	lib := library(t)
	end := map[string]func(c *child){
		"EOF":     func(c *child) { c.stdin.Close() },
		"SIGTERM": func(c *child) { c.cmd.Process.Signal(syscall.SIGTERM) },
	}
	for how, do := range end {
		for _, call := range []string{"", "dcgmHealthCheck", "dcgmConnect_v2", "dcgmDisconnect"} {
			t.Run(how+call, func(t *testing.T) {
				t.Parallel()
				n := newNode(t)
				if call != "" {
					must(t, n.DCGM().Hang(call, time.Hour))
				}
				c := startWith(t, n, lib, config())
				if call == "" || call == "dcgmDisconnect" {
					c.kind(dcgm.KindHealth)
				} else {
					c.kind(dcgm.KindHung)
				}
				do(c)
				if exit := c.ended(); exit != 0 {
					t.Errorf("exit %d, want 0", exit)
				}
			})
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	bad := map[string]Config{
		"period":   {Address: address, Deadline: 1},
		"deadline": {Address: address, Period: 1},
		"address":  {Period: 1, Deadline: 1},
	}
	for field, cfg := range bad {
		if err := Run(t.Context(), strings.NewReader(""), nil, cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
