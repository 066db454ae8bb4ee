package replay

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// VerdictLine is a verdict as replay's JSON has it; docs/replay.md is its
// contract.
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
	// line is where an event is put together.
	line []byte
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
	if f.Event.Kind != xidparse.KindNone || f.Gap {
		j.line = appendEvent(j.line[:0], f)
		if _, err := j.out.Write(j.line); err != nil {
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
