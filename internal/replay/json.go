package replay

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// EventLine is an event as replay's JSON has it; docs/replay.md is its contract.
type EventLine struct {
	Type            string  `json:"type"`
	File            string  `json:"file,omitempty"`
	Line            int     `json:"line"`
	Time            *string `json:"time"`
	Kind            string  `json:"kind"`
	XID             *int    `json:"xid"`
	PCI             *string `json:"pci"`
	GPUInstance     *int    `json:"gpu_instance"`
	ComputeInstance *int    `json:"compute_instance"`
	PID             *int    `json:"pid"`
	Process         string  `json:"process"`
	Link            *int    `json:"link"`
	CausedBy        *int    `json:"caused_by"`
	Missing         uint64  `json:"missing,omitempty"`
	Message         string  `json:"message"`
}

// VerdictLine is a verdict as replay's JSON has it.
type VerdictLine struct {
	Type      string   `json:"type"`
	ID        string   `json:"id"`
	Fault     string   `json:"fault"`
	GPUs      []string `json:"gpus"`
	Affected  []string `json:"affected"`
	Victims   []string `json:"victims"`
	Radius    string   `json:"radius"`
	Action    string   `json:"action"`
	DiagLevel int      `json:"diag_level"`
	Count     uint64   `json:"count"`
	Root      *string  `json:"root"`
	Reason    string   `json:"reason"`
}

// JSON prints one object a line.
type JSON struct {
	out *bufio.Writer
	enc *json.Encoder
}

// NewJSON prints to w.
func NewJSON(w io.Writer) *JSON {
	out := bufio.NewWriterSize(w, outBuffer)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return &JSON{out: out, enc: enc}
}

// Finding implements Printer. What is ignored is no event.
func (j *JSON) Finding(f Finding) error {
	if f.Event.Kind != xidparse.KindNone || f.Missing > 0 {
		if err := j.enc.Encode(eventLine(&f)); err != nil {
			return err
		}
	}
	for _, c := range f.Changes {
		if err := j.enc.Encode(NewVerdictLine(c.Verdict)); err != nil {
			return err
		}
	}
	return nil
}

// eventLine points into f, so that a flood costs little.
func eventLine(f *Finding) *EventLine {
	line := &EventLine{Type: "event", File: f.File, Line: f.Line, Missing: f.Missing}
	if f.Time.Clock != xidparse.ClockNone {
		text := f.Time.String()
		line.Time = &text
	}
	if f.Missing > 0 {
		line.Kind, line.Message = "gap", f.Text
		return line
	}
	ev := &f.Event
	line.Kind, line.Process, line.Message = ev.Kind.String(), ev.Process, ev.Message
	line.XID, line.PID, line.CausedBy = present(&ev.Code, 0), present(&ev.PID, 0), present(&ev.CausedBy, 0)
	line.GPUInstance, line.ComputeInstance = present(&ev.GPUInstance, xidparse.Absent), present(&ev.ComputeInstance, xidparse.Absent)
	line.Link = present(&ev.Link, xidparse.Absent)
	if ev.HasPCI {
		pci := ev.PCI.String()
		line.PCI = &pci
	}
	return line
}

// present gives nil for the value that stands for nothing.
func present(v *int, absent int) *int {
	if *v == absent {
		return nil
	}
	return v
}

// NewVerdictLine gives a verdict's form in JSON.
func NewVerdictLine(v fault.Verdict) VerdictLine {
	line := VerdictLine{Type: "verdict", ID: v.ID, Fault: string(v.Class), GPUs: addresses(v.GPUs), Affected: addresses(v.Affected),
		Victims: addresses(v.Victims), Radius: v.Radius.String(), Action: v.Action.String(), DiagLevel: v.Diag, Count: v.Count, Reason: v.Reason}
	if v.Root != "" {
		line.Root = &v.Root
	}
	return line
}

func addresses(ds []fault.Device) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.PCI.String()
	}
	return out
}

// End implements Printer: every open verdict once more, with its final count.
func (j *JSON) End(o Outcome) error {
	for _, v := range o.Open {
		if err := j.enc.Encode(NewVerdictLine(v)); err != nil {
			return err
		}
	}
	return j.out.Flush()
}
