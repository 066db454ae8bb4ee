package kube

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// caughtUp returns when the watch, if there is one, has the Node's present
// version.
func (b *bench) caughtUp(t *testing.T) {
	t.Helper()
	now := viewOf(b.object(t))
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		have, watched := b.mirror.current()
		if !watched || !older(have, now) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("the watch stays at version %s, the Node is at %s", have.version, now.version)
		}
	}
}

func TestTheWatchTellsWhatOthersDo(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.apply(t, quarantined("a"))
	told := b.watching(t)
	b.edit(t, uncordon)
	b.await(t, told, func(o remediate.Observed) bool { return !o.Unschedulable })
	b.edit(t, `{"metadata":{"annotations":{"gpuhealthd.io/incident":null}}}`)
	b.await(t, told, func(o remediate.Observed) bool { return o.Note == nil })
	b.edit(t, `{"spec":{"taints":null}}`)
	b.await(t, told, func(o remediate.Observed) bool { return !o.Tainted })
}

// What Observed does not show still needs a new Apply.
func TestTheWatchTellsThatALabelIsGone(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.apply(t, healthy())
	told := b.watching(t)
	b.edit(t, `{"metadata":{"labels":{"gpuhealthd.io/state":null}}}`)
	b.await(t, told, func(o remediate.Observed) bool { return o.Exists })
	b.apply(t, healthy())
	if got := b.object(t).Labels[remediate.LabelState]; got != "healthy" {
		t.Errorf("state %q", got)
	}
}

func TestTheWatchIsSilentAboutWhatIsNotOurs(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	b.apply(t, healthy())
	told := b.watching(t)
	b.edit(t, `{"metadata":{"labels":{"zone":"b"}}}`)
	b.edit(t, `{"spec":{"taints":[{"key":"example.com/x","effect":"NoSchedule"}]}}`)
	b.caughtUp(t)
	select {
	case <-told:
		t.Error("told of another's label or taint")
	default:
	}
	b.edit(t, cordon)
	b.await(t, told, func(o remediate.Observed) bool { return o.Unschedulable })
}

// The delay of a fleet that starts at once holds up the watch and nothing else.
func TestTheStartDelayHoldsUpNoCordon(t *testing.T) {
	cluster := shared.Cluster(t)
	cluster.CreateNode(t, nodeName(t))
	var seen requests
	node, err := New(Options{
		Name: nodeName(t), Config: cluster.Admin(), Observe: seen.observe,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), WatchDelay: 1000 * time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		node.Watch(ctx, func() { t.Error("watched") })
	}()
	got, err := node.Apply(t.Context(), quarantined("a"))
	if err != nil || !got.Unschedulable {
		t.Errorf("%+v, %v", got, err)
	}
	cancel()
	<-ended
	if n := seen.count("watch") + seen.count("list"); n != 0 {
		t.Errorf("%d lists and watches within the delay", n)
	}
}

// A list may come from a server that is behind the one that took our write.
func TestTheMirrorNeverFallsBehindOurOwnWrites(t *testing.T) {
	at := func(version string, unschedulable bool) view {
		return view{uid: "u", version: version, unschedulable: unschedulable}
	}
	told := 0
	m := &mirror{}
	m.begin(func() { told++ })
	m.wrote(at("101", true))
	if _, ok := m.current(); ok {
		t.Error("a write is no watch")
	}
	m.heard(at("100", false))
	if have, ok := m.current(); !ok || !have.unschedulable {
		t.Errorf("fell back to %+v", have)
	}
	m.heard(at("102", false))
	m.wrote(at("101", true))
	if have, _ := m.current(); have.unschedulable {
		t.Errorf("an old answer won: %+v", have)
	}
	m.heard(view{})
	m.wrote(at("103", true))
	if have, _ := m.current(); have.exists() {
		t.Errorf("a deleted Node came back: %+v", have)
	}
	if told != 3 {
		t.Errorf("told %d times", told)
	}
}
