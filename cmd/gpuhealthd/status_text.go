package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// printStatus tells a status for people.
func printStatus(w io.Writer, s agent.Status, style replay.Style) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Node      %s\n", nodeLine(s, style))
	kernelLines(out, s, style)
	fmt.Fprintf(out, "Driver    %s\n", driverLine(s, style))
	if lacks := s.Driver.Lacks; len(lacks) > 0 {
		fmt.Fprintf(out, "          driver lacks: %s\n", strings.Join(lacks, ", "))
	}
	trainingLine(out, s, style)
	if d := s.DCGM; d.Enabled {
		fmt.Fprintf(out, "DCGM      %s\n", works(style, d.Absent, "a second opinion, engine "+d.Version))
	}
	unseen(out, "fabric manager", s.Services.FabricManager, style)
	unseen(out, "IMEX", s.Services.IMEX, style)
	fmt.Fprintf(out, "Store     %s\n", works(style, s.Store, "written to"))
	for _, m := range s.Missing {
		fmt.Fprintf(out, "Program   %s\n", style.Bad(replay.Printable(m.Setting+": "+m.Why)))
	}
	if s.Evidence != "" {
		fmt.Fprintf(out, "Evidence  %s\n", style.Bad(replay.Printable(s.Evidence)))
	}
	trouble, waiting := "", replay.Count(s.Waiting, "event")+" waiting"
	switch {
	case s.API != nil:
		trouble = s.API.Error + "; " + waiting
	case s.Untold != nil:
		trouble = "events are not taken: " + s.Untold.Error + "; " + waiting
	}
	fmt.Fprintf(out, "%-9s %s\n", toldLabel(s), works(style, trouble, "in order, "+waiting))
	if o := s.Offered; o.Capacity > 0 {
		fmt.Fprintf(out, "Plugin    offers %d of %s to pods: the device plugin's policy, not judged here\n", o.Allocatable, replay.Count(o.Capacity, "GPU"))
	}
	servingLines(out, s, style)
	groupLines(out, s, style)
	fenceLines(out, s, style)
	gpuTable(out, s)
	replicaTable(out, s)
	workerTable(out, s)
	for _, r := range s.Diagnoses {
		fmt.Fprintf(out, "\nAsked for: %s (incident %s)\n", r, r.Incident)
	}
	diagnosisLines(out, s, style)
	for _, r := range s.Replacements {
		fmt.Fprintf(out, "\n%s\n", style.Bad(replacementText(r)))
	}
	for _, i := range s.Incidents {
		incident(out, s, i, style)
	}
	if n := len(s.History); n > 0 {
		last := s.History[n-1]
		fmt.Fprintf(out, "\nIncidents that are over: %d, the last one %s, %s.\n", n, last.Verdict.Class, ago(s.At, last.Ended))
	}
	return out.Flush()
}

// trainingLine says that NVLinks or fabric are not up yet, and how long they are given;
// what it is of each GPU the table of the GPUs says.
func trainingLine(out io.Writer, s agent.Status, style replay.Style) {
	gpus, until := map[string]bool{}, time.Time{}
	for _, t := range s.Training {
		gpus[t.GPU.String()] = true
		if t.Until.After(until) {
			until = t.Until
		}
	}
	if len(gpus) > 0 {
		fmt.Fprintf(out, "NVLink    %s\n", style.Bad(fmt.Sprintf("links or fabric of %s are not up, and are given until %s", replay.Count(len(gpus), "GPU"), until.UTC().Format(time.RFC3339))))
	}
}

// toldLabel names who is told what the node shall be.
func toldLabel(s agent.Status) string {
	switch config.Actuator(s.Actuator) {
	case config.ActuatorSlurm:
		return "Slurm"
	case config.ActuatorExec:
		return "Exec"
	case config.ActuatorLog:
		return "Log"
	}
	return "API"
}

// unseen says why a service cannot be seen.
func unseen(out io.Writer, service, why string, style replay.Style) {
	if why != "" {
		fmt.Fprintf(out, "Services  %s: %s\n", service, style.Bad(replay.Printable("unknown: "+why)))
	}
}

// kernelLines says how the kernel is heard, and from when to when it was not.
func kernelLines(out io.Writer, s agent.Status, style replay.Style) {
	k := s.KernelLog
	fmt.Fprintf(out, "Kernel    %s\n", works(style, k.Deaf, fmt.Sprintf("heard by %s, %s, %d lost, %d more filled in", k.Source, replay.Count(k.Read, "record"), k.Lost, k.Filled)))
	if j := k.Journal; j != nil && k.Source != kernlog.FromJournal {
		fmt.Fprintf(out, "          journal: %s\n", works(style, j.Deaf, "open"))
	}
	if g := k.LastGap; !g.At.IsZero() {
		fmt.Fprintf(out, "          last loss: from %s to %s, noticed %s\n", g.Since.Format(time.RFC3339), g.Until.Format(time.RFC3339), ago(s.At, g.At))
	}
}

func nodeLine(s agent.Status, style replay.Style) string {
	if s.Node == nil {
		text := "not known yet (mode " + string(s.Mode) + ")"
		if s.API != nil {
			text += ": " + toldLabel(s) + " has not said what it is"
		}
		return text
	}
	text := string(s.Node.State)
	if s.Node.Fault != "" {
		text += ": " + s.Node.Fault + ", radius " + s.Node.Radius
	}
	text += " (mode " + string(s.Mode) + ")"
	switch {
	case s.API != nil:
		return style.Bad(text + "; " + toldLabel(s) + " does not say so yet")
	case s.Closed && s.Node.State == remediate.Healthy:
		return style.Bad(text + "; kept out of service by somebody else")
	case s.Node.State == remediate.Healthy:
		return style.Good(text)
	}
	return style.Bad(text)
}

func driverLine(s agent.Status, style replay.Style) string {
	switch d := s.Driver; {
	case !d.Enabled:
		return "not asked: nvml.enabled is false"
	case d.Gpuless:
		return replay.Printable(d.Blind)
	case d.Blind != "":
		return style.Bad(replay.Printable(d.Blind))
	case d.Answered.IsZero():
		return "has not answered yet"
	case len(d.Stuck) > 0:
		return style.Bad(replay.Printable("does not return: " + strings.Join(d.Stuck, ", ")))
	case len(d.Failing) > 0:
		return style.Bad(replay.Printable(strings.Join(d.Failing, ", ")))
	default:
		return style.Good("answered " + ago(s.At, d.Answered))
	}
}

// works says how something is. Either may be in the words of others.
func works(style replay.Style, trouble, fine string) string {
	if trouble != "" {
		return style.Bad(replay.Printable(trouble))
	}
	return style.Good(replay.Printable(fine))
}

func ago(now, then time.Time) string { return lasting(now.Sub(then)) + " ago" }

// lasting says 2h and not 2h0m0s.
func lasting(d time.Duration) string {
	text := d.Round(time.Second).String()
	if short, whole := strings.CutSuffix(text, "m0s"); whole {
		text = strings.TrimSuffix(short+"m", "h0m")
		if !strings.HasSuffix(text, "m") {
			text += "h"
		}
	}
	return text
}

func gpuTable(out io.Writer, s agent.Status) {
	if len(s.GPUs) == 0 {
		return
	}
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nPCI\tUUID\tSERIAL\tNAME\tSTATE")
	for _, g := range s.GPUs {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", g.PCI, replay.Printable(g.UUID), replay.Printable(g.Serial), replay.Printable(g.Name), gpuState(g, s))
	}
	_ = tw.Flush() // the buffer below it reports
}

// gpuState is what is known of one GPU: the open faults on it, else the
// driver's word, which is of now only while the driver can be asked about it.
func gpuState(g inventory.GPU, s agent.Status) string {
	var faults, training []string
	for _, t := range s.Training {
		if t.GPU.PCI == g.PCI {
			training = append(training, t.What)
		}
	}
	for _, i := range s.Incidents {
		for _, d := range i.Verdict.GPUs {
			if d.PCI == g.PCI {
				faults = append(faults, string(i.Verdict.Class))
			}
		}
	}
	switch {
	case len(faults) > 0:
		return strings.Join(faults, ", ")
	case g.Lost:
		return "lost"
	case !g.Listed || s.Driver.Enabled && !s.Driver.Answers(g.UUID):
		return "unknown"
	case len(training) > 0:
		return strings.Join(training, ", ")
	}
	return "ok"
}

func incident(out io.Writer, s agent.Status, i remediate.Incident, style replay.Style) {
	state, cordon := string(i.State), ""
	if s.Node != nil && s.Node.Note != nil && s.Node.Note.Fence == remediate.FenceDevice && i.State == remediate.Quarantined {
		state, cordon = "its device fenced", "; lifted, since the device is fenced by itself"
	}
	fmt.Fprintf(out, "\nIncident %s, %s, opened %s\n  %s\n  %s\n", replay.Printable(i.Verdict.ID), state, ago(s.At, i.Verdict.Opened),
		style.Verdict(i.Verdict), replay.Printable(i.Verdict.Reason))
	for _, step := range i.Steps {
		what := waits(s, i, step)
		if step.Kind == remediate.StepCordon {
			what += cordon
		}
		fmt.Fprintf(out, "  %-8s %s, %s%s\n", step.Kind, step.Status, ago(s.At, step.Since), what)
	}
	for _, h := range i.Held {
		fmt.Fprintf(out, "  held     %s\n", style.Bad(heldText(s, h)))
	}
	if i.Unfenced != "" {
		fmt.Fprintf(out, "  fence    %s\n", replay.Printable("the node, since the device cannot be fenced by itself: "+i.Unfenced))
	}
	if i.Released {
		fmt.Fprintln(out, "  released by an administrator; not acted on under this incident")
	}
}

// waits says what a step waits for, or what came of it.
func waits(s agent.Status, i remediate.Incident, step remediate.Step) string {
	asked := step.Status == remediate.Requested || step.Status == remediate.WhenIdle
	if step.Kind == remediate.StepDrain && asked && config.Actuator(s.Actuator) == config.ActuatorSlurm {
		return "; Slurm does that: the drained node's jobs go on to their end, and no other begins"
	}
	for _, w := range i.Waits {
		if w.Step != step.Kind {
			continue
		}
		text := "; waits: " + w.For
		if !w.Until.IsZero() {
			text += ", until " + w.Until.UTC().Format(time.RFC3339)
		}
		return replay.Printable(text)
	}
	if step.Status == remediate.Fruitless && step.Why != "" {
		return replay.Printable("; " + step.Why)
	}
	return ""
}
