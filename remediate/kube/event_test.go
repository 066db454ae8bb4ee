package kube

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/apiserver"
)

func happened(key string) remediate.Event {
	return remediate.Event{
		Key: key, Type: "Warning", Reason: "Cordoned",
		Message: "xid-79 on 0000:3b:00: node cordoned",
		At:      time.Date(2026, 11, 30, 9, 0, 0, 123456000, time.UTC),
	}
}

func (b *bench) events(t *testing.T) []eventsv1.Event {
	t.Helper()
	list, err := b.admin.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(),
		metav1.ListOptions{FieldSelector: "regarding.name=" + b.options.Name})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestAnEventIsToldOnce(t *testing.T) {
	cluster := shared.Cluster(t)
	b := onNode(t, cluster)
	b.watching(t)
	for range 2 {
		if err := b.Emit(t.Context(), happened("incident/1")); err != nil {
			t.Fatal(err)
		}
	}
	again := with(t, cluster, b.options.Name, cluster.Admin())
	if err := again.Emit(t.Context(), happened("incident/1")); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := b.Emit(t.Context(), happened("incident/2")); err != nil {
		t.Fatal(err)
	}
	told := b.events(t)
	if len(told) != 2 {
		t.Fatalf("%d events", len(told))
	}
	e := told[0]
	if e.Regarding.Kind != "Node" || e.Regarding.UID != b.object(t).UID || e.Type != "Warning" || e.Reason != "Cordoned" ||
		e.ReportingController != "gpuhealthd.io/agent" || e.ReportingInstance != b.options.Name ||
		!e.EventTime.Equal(&metav1.MicroTime{Time: happened("").At}) || e.Note != happened("").Message {
		t.Errorf("%+v", e)
	}
}

func TestALongHostileMessageStillBecomesAnEvent(t *testing.T) {
	b := onNode(t, shared.Cluster(t))
	event := happened("incident/1")
	event.Message = "a\xff" + strings.Repeat("€", 2000)
	if err := b.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	note := b.events(t)[0].Note
	if len(note) > apiserver.NoteLimit || len(note) < apiserver.NoteLimit-3 || !utf8.ValidString(note) {
		t.Errorf("%d bytes, ends %q", len(note), note[len(note)-6:])
	}
}
