package remediate

import (
	"maps"
	"slices"
	"strconv"
)

// Settle returns what a Node that says have shall say when the wish is
// applied: cordon, taint and mark, by the rules of Claim, and the autoscalers'
// annotations, by those of keep. An administrator's
// uncordon takes our taint too, and leaves the mark: so the release is not
// forgotten until the plan has heard of it and wishes something else.
func Settle(want Desired, have Observed) Observed {
	if have.Note != nil && have.Note.Owner == "" {
		// A note that owns nothing, of an incident without a cordon so far: that
		// its Node is schedulable is no administrator's answer to us.
		have.Note = nil
	}
	cordon, owner, released := Claim(want, have)
	next := Observed{Exists: have.Exists, UID: have.UID, Unschedulable: cordon, Offered: have.Offered,
		InHand: have.InHand, DiagAt: want.DiagAt, Asks: have.Asks, Diagnosing: want.Diagnosing}
	if want.Taken == have.Asks {
		next.Asks = ""
	}
	switch {
	case released:
		next.Note = have.Note
	case want.Note != nil:
		note := *want.Note
		note.Owner = owner
		next.Note = &note
		next.Tainted = want.Quarantine && note.Fence == ""
	}
	kept, ours := keep(want.Keep && want.Quarantine && !released && next.Note != nil, have)
	next.Kept = kept
	if next.Note != nil && !slices.Equal(next.Note.Kept, ours) {
		note := *next.Note
		note.Kept = ours
		next.Note = &note
	}
	return next
}

// Labels returns our labels on the Node; one without a value is not there.
func (d Desired) Labels() map[string]string {
	labels := map[string]string{
		LabelState:      string(d.State),
		LabelFault:      d.Fault,
		LabelRadius:     d.Radius,
		LabelDomain:     d.Domain,
		LabelDiag:       d.Diag,
		LabelDiagnosing: d.Diagnosing,
	}
	if d.GPUsHealthy != nil {
		labels[LabelGPUs] = strconv.Itoa(*d.GPUsHealthy)
	}
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return labels
}

// Annotations returns what the Node says beside its labels and its mark; one without a
// value is not there.
func (d Desired) Annotations() map[string]string {
	notes := map[string]string{
		SinceAnnotation:    d.Since,
		SummaryAnnotation:  d.Summary,
		StrandedAnnotation: d.Stranded,
		DiagAnnotation:     d.DiagAt,
	}
	maps.DeleteFunc(notes, func(_, value string) bool { return value == "" })
	return notes
}
