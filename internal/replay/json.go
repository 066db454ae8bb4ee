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
	Kind            string  `json:"kind"`
	XID             *int    `json:"xid"`
	PCI             *string `json:"pci"`
	GPUInstance     *int    `json:"gpu_instance"`
	ComputeInstance *int    `json:"compute_instance"`
	PID             *int    `json:"pid"`
	Process         string  `json:"process"`
	Link            *int    `json:"link"`
	CausedBy        *int    `json:"caused_by"`
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
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return &JSON{out: out, enc: enc}
}

// Event implements Printer.
func (j *JSON) Event(h Heard) error {
	ev := h.Event
	line := EventLine{Type: "event", File: h.File, Line: h.Line, Kind: ev.Kind.String(), Process: ev.Process, Message: ev.Message,
		GPUInstance: present(ev.GPUInstance, xidparse.Absent), ComputeInstance: present(ev.ComputeInstance, xidparse.Absent),
		PID: present(ev.PID, 0), Link: present(ev.Link, xidparse.Absent), CausedBy: present(ev.CausedBy, 0), XID: present(ev.Code, 0)}
	if ev.HasPCI {
		pci := ev.PCI.String()
		line.PCI = &pci
	}
	return j.enc.Encode(line)
}

// present gives nil for the value that stands for nothing.
func present(v, absent int) *int {
	if v == absent {
		return nil
	}
	return &v
}

// Verdict implements Printer.
func (j *JSON) Verdict(v fault.Verdict) error { return j.enc.Encode(NewVerdictLine(v)) }

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
		if err := j.Verdict(v); err != nil {
			return err
		}
	}
	return j.out.Flush()
}
