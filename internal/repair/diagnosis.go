package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// diagnosis has dcgmi diagnose.
type diagnosis struct {
	runner *dcgmi.Runner
	told   func(deed string, p dcgmi.Progress)
}

func (p *parts) diag() (agent.Doer, error) {
	if p.Config.Diag.Mode != remediate.MeansCommand {
		return nil, nil
	}
	return simple(diagnosis{dcgmi.New(p.Config.Diag.Runner()), p.Told}.do), nil
}

// do diagnoses. What dcgmi says of a GPU is the answer, whatever its exit status.
func (d diagnosis) do(ctx context.Context, deed remediate.Deed) remediate.Outcome {
	task := dcgmi.Task{Level: deed.Level}
	for _, g := range deed.GPUs {
		if g.UUID != "" {
			task.GPUs = append(task.GPUs, g.UUID)
		}
	}
	if len(task.GPUs) == 0 {
		return remediate.Outcome{Result: remediate.Unavailable, Text: "no GPU's UUID is known, and dcgmi is asked by that"}
	}
	return outcome(d.runner.Run(ctx, task, func(p dcgmi.Progress) { d.told(deed.ID, p) }))
}

// outcome is what the plan has to know of a diagnosis.
func outcome(o diag.Outcome) remediate.Outcome {
	all := remediate.Outcome{Result: remediate.Succeeded, Text: o.Left}
	if o.Unavailable != "" {
		all.Result, all.Text = remediate.Unavailable, o.Unavailable
	}
	for _, f := range o.Findings {
		all.Checked = append(all.Checked, remediate.Checked{GPU: f.GPU, Check: remediate.Check(f.Verdict), Hint: f.Hint, Why: why(f)})
	}
	report, err := json.Marshal(o)
	if err != nil {
		all.Text = strings.TrimPrefix(all.Text+fmt.Sprintf("; the report cannot be kept: %v", err), "; ")
	}
	all.Report = report
	return all
}

// maxWhy bounds what an event says of a GPU: the report has all.
const maxWhy = 400

func why(f diag.Finding) string {
	text := strings.ToValidUTF8(strings.Join(f.Reasons, "; "), "\uFFFD")
	if len(text) > maxWhy {
		text = strings.ToValidUTF8(text[:maxWhy], "") + " …"
	}
	return text
}

// Worst is the worst that a diagnosis says of its GPUs, and why.
func Worst(o diag.Outcome) (remediate.Check, string) {
	var gpus []fault.Device
	for _, g := range o.GPUs {
		gpus = append(gpus, fault.Device{UUID: g.UUID})
	}
	check, _, why := outcome(o).Of(gpus)
	return check, why
}
