package evidence

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// Summary is one incident in a list.
type Summary struct {
	ID     string              `json:"id"`
	Fault  fault.Class         `json:"fault,omitempty"`
	GPUs   []fault.Device      `json:"gpus"`
	Action fault.Action        `json:"action"`
	State  remediate.NodeState `json:"state,omitempty"`
	Reason string              `json:"reason,omitempty"`
	Opened time.Time           `json:"opened,omitzero"`
	// Ended is zero while it is open, or where that is not known.
	Ended time.Time `json:"ended,omitzero"`
	// Bytes is the size of its bundle, 0 where there is none.
	Bytes int64 `json:"bytes"`
	// Damage is what is wrong with the bundle; empty when it is whole.
	Damage string `json:"damage,omitempty"`
	// Replacement is what was asked for, nil where nothing was.
	Replacement *Replacement `json:"replacement,omitempty"`
}

// Summary is the bundle in a list.
func (b Bundle) Summary() Summary {
	s := Summary{ID: b.ID, GPUs: []fault.Device{}, Damage: strings.Join(b.Damage, "; ")}
	if len(b.Pieces) > 0 {
		s.Opened = b.Pieces[0].At
	}
	if p, ok := b.last(KindVerdict); ok {
		v := p.Verdict
		s.Fault, s.Action, s.Reason, s.Opened = v.Class, v.Action, v.Reason, v.Opened
		s.GPUs = append(s.GPUs, v.GPUs...)
	}
	if p, ok := b.last(KindProgress); ok {
		s.State, s.Ended = p.Progress.State, p.Progress.Ended
	}
	if p, ok := b.last(KindReplacement); ok {
		s.Replacement = p.Replace
	}
	return s
}

// List gives all incidents that have a bundle, the newest first. One that cannot
// be read is in it, with what is wrong.
func (d *Dir) List() ([]Summary, error) {
	d.listing.Lock()
	defer d.listing.Unlock()
	all, err := d.bundles()
	if err != nil {
		return nil, fmt.Errorf("list the evidence: %w", err)
	}
	list, now := []Summary{}, map[string]listed{}
	for _, h := range all {
		known, ok := d.listed[h.id]
		if !ok || known.held != h {
			known = listed{h, d.summarize(h)}
		}
		now[h.id] = known
		list = append(list, known.summary)
	}
	d.listed = now
	newestFirst(list)
	return list, nil
}

// listed is what a bundle said when it was listed last.
type listed struct {
	held    held
	summary Summary
}

func (d *Dir) summarize(h held) Summary {
	s := d.summary(h.id)
	s.Bytes = h.size
	if s.Opened.IsZero() {
		s.Opened = h.changed
	}
	return s
}

func (d *Dir) summary(id string) Summary {
	text, err := d.Raw(id)
	if err != nil {
		return Summary{ID: id, GPUs: []fault.Device{}, Damage: err.Error()}
	}
	b, err := Read(id, bytes.NewReader(text))
	if err != nil {
		return Summary{ID: id, GPUs: []fault.Device{}, Damage: err.Error()}
	}
	return b.Summary()
}

// Raw gives a bundle's bytes. The error matches fs.ErrNotExist where there is no
// bundle of that incident.
func (d *Dir) Raw(id string) ([]byte, error) {
	file, _, err := open(d.Path(id))
	if err != nil {
		return nil, fmt.Errorf("evidence of incident %s: %w", id, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRead))
	if err != nil {
		return nil, fmt.Errorf("evidence of incident %s: %w", id, err)
	}
	return text, nil
}

// Merge adds the incidents that an agent knows and that have no bundle, and lets
// its word stand for those that have one.
func Merge(list []Summary, incidents []remediate.Incident) []Summary {
	for _, i := range incidents {
		v := i.Verdict
		s := Summary{ID: v.ID, Fault: v.Class, GPUs: append([]fault.Device{}, v.GPUs...), Action: v.Action, State: i.State, Reason: v.Reason,
			Opened: v.Opened, Ended: i.Ended}
		n := slices.IndexFunc(list, func(o Summary) bool { return o.ID == v.ID })
		if n < 0 {
			list = append(list, s)
			continue
		}
		s.Bytes, s.Damage, s.Replacement = list[n].Bytes, list[n].Damage, list[n].Replacement
		list[n] = s
	}
	newestFirst(list)
	return list
}

func newestFirst(list []Summary) {
	slices.SortStableFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Opened.Compare(a.Opened), cmp.Compare(a.ID, b.ID))
	})
}
