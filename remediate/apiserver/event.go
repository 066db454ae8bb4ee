package apiserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

const (
	controller = remediate.Prefix + "agent"
	// NoteLimit is that of events.k8s.io/v1, as the next, in bytes.
	NoteLimit     = 1024
	instanceLimit = 128
)

// Emit tells an event about an object, in the words of the agent on a node. The
// event's own name follows from its key and from the node, or what it is about
// beyond that: one that is there already is told,
// and no error. Events about what has no namespace live in the default one.
func (c *Client) Emit(ctx context.Context, node string, about corev1.ObjectReference, event remediate.Event) error {
	ctx, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	name := sha256.Sum256([]byte(cmp.Or(event.Shared, node) + "\x00" + event.Key))
	err := c.Events.Post().Namespace(namespace).Resource("events").Param("fieldManager", Manager).Body(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      "gpuhealthd." + hex.EncodeToString(name[:16]),
		},
		EventTime:           metav1.NewMicroTime(event.At),
		ReportingController: controller,
		ReportingInstance:   truncate(node, instanceLimit),
		Action:              event.Reason,
		Reason:              event.Reason,
		Regarding:           about,
		Note:                truncate(event.Message, NoteLimit),
		Type:                event.Type,
	}).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("event %s (%s) on %s %s: %w", event.Key, event.Reason, strings.ToLower(about.Kind), about.Name, err)
	}
	return nil
}

// truncate cuts text to at most limit bytes, between runes, and replaces what is no
// UTF-8, or not to be shown on a terminal.
func truncate(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
