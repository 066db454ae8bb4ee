package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

const (
	controller = remediate.Prefix + "agent"
	// The limits of events.k8s.io/v1, in bytes.
	noteLimit     = 1024
	instanceLimit = 128
)

// Emit tells an event about the Node. The name of its object follows from node
// and key: an event that is there already is told, and no error.
func (n *Node) Emit(ctx context.Context, event remediate.Event) error {
	err := n.client.createEvent(ctx, n.eventObject(event))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("event %s (%s) on node %s: %w", event.Key, event.Reason, n.options.Name, err)
	}
	return nil
}

func (n *Node) eventObject(event remediate.Event) *eventsv1.Event {
	name := sha256.Sum256([]byte(n.options.Name + "\x00" + event.Key))
	// The kubelet puts the name where it knows no UID, and kubectl looks for both.
	uid := types.UID(n.options.Name)
	if have, ok := n.mirror.current(); ok && have.exists() {
		uid = have.uid
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			// Events about what has no namespace live in this one.
			Namespace: metav1.NamespaceDefault,
			Name:      "gpuhealthd." + hex.EncodeToString(name[:16]),
		},
		EventTime:           metav1.NewMicroTime(event.At),
		ReportingController: controller,
		ReportingInstance:   truncate(n.options.Name, instanceLimit),
		Action:              event.Reason,
		Reason:              event.Reason,
		Regarding:           corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.options.Name, UID: uid},
		Note:                truncate(event.Message, noteLimit),
		Type:                event.Type,
	}
}

// truncate cuts text to at most limit bytes, between runes, and replaces what
// is no UTF-8.
func truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
