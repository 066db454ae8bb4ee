package agent

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// onFile is an agent on the kernel log of a simulated node, in real time: what
// it is waited for comes over a channel.
type onFile struct {
	t      *testing.T
	node   *node.Node
	state  string
	told   chan remediate.Event
	seen   map[string]bool
	cancel context.CancelFunc
	done   chan error
	agent  *Agent
}

func newOnFile(t *testing.T) *onFile {
	n, err := node.New(filepath.Join(t.TempDir(), "node"), "hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	return &onFile{t: t, node: n, state: filepath.Join(t.TempDir(), "state.db"), told: make(chan remediate.Event, 64),
		seen: map[string]bool{}}
}

func (f *onFile) start() {
	f.t.Helper()
	w := newWorld()
	w.onEmit = func(_ context.Context, e remediate.Event) error { f.told <- e; return nil }
	a, err := New(Options{Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
		Policy: remediate.Policy{Mode: remediate.Contain}, Judge: fault.Config{},
		Kernel:   kernlog.Config{Path: f.node.KmsgPath(), BootIDPath: f.node.BootIDPath()},
		Actuator: w, StatePath: f.state})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	f.agent, f.cancel, f.done = a, cancel, make(chan error, 1)
	go func() { f.done <- a.Run(ctx) }()
}

func (f *onFile) stop() {
	f.t.Helper()
	f.cancel()
	if err := <-f.done; err != nil {
		f.t.Error(err)
	}
}

func (f *onFile) say(text string) {
	f.t.Helper()
	if err := f.node.Kmsg(text); err != nil {
		f.t.Fatal(err)
	}
}

// detected waits for the next fault, and gives its incident. An event that was
// told in the moment of the stop may be told again: that is the same event.
func (f *onFile) detected() string {
	for {
		e := <-f.told
		if id, found := strings.CutSuffix(e.Key, "/FaultDetected"); found && !f.seen[id] {
			f.seen[id] = true
			return id
		}
	}
}

func (f *onFile) id(sequence string) string {
	boot, err := kernlog.BootID(f.node.BootIDPath())
	if err != nil {
		f.t.Fatal(err)
	}
	return boot[:8] + "-" + sequence
}

// TestOnAFollowedLog goes through a restart and two reboots of a real log file.
func TestOnAFollowedLog(t *testing.T) {
	f := newOnFile(t)
	f.start()
	check := func(sequence string) {
		t.Helper()
		if got, want := f.detected(), f.id(sequence); got != want {
			t.Errorf("incident %s, want %s", got, want)
		}
	}
	f.say("usb 1-1: somebody else's")
	f.say(xid(0, uncontained))
	check("1")
	f.stop()
	f.say(xid(1, uncontained))
	f.start()
	check("2")
	for _, text := range []string{xid(2, "79, pid=1, GPU has fallen off the bus."), xid(3, "64, pid=1, Row Remapper: Error")} {
		if err := f.node.Reboot(); err != nil {
			t.Fatal(err)
		}
		f.say(text)
		check("0")
	}
	f.stop()
}
