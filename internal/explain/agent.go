package explain

import (
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Agent is what the agent does about a fault: about a line as its text says, and
// about a class before a line's text, other faults and the driver's recovery
// action refine it.
type Agent struct {
	Hard   bool         `json:"hard"`
	Radius fault.Radius `json:"radius"`
	Action fault.Action `json:"action"`
	// Later is an action that waits for an idle window.
	Later fault.Action `json:"later"`
	Drain fault.Drain  `json:"drain"`
	Diag  int          `json:"diag_level"`
	// Ends is the evidence that ends the fault.
	Ends string `json:"ends"`
	// SymptomOf are the classes beside which it is an echo that does not act;
	// on the same GPU, or on any GPU of the node.
	SymptomOf         []fault.Class `json:"symptom_of"`
	SymptomOfAnywhere []fault.Class `json:"symptom_of_anywhere"`
	// Why says the same in sentences, for people.
	Why []string `json:"why"`
}

func ruleText(r fault.Rule) Agent {
	a := Agent{Hard: r.Hard, Radius: r.Radius, Action: r.Action, Later: r.Later, Drain: r.Drain, Diag: r.Diag, Ends: r.Over(),
		SymptomOf: append([]fault.Class{}, r.EchoOf...), SymptomOfAnywhere: append([]fault.Class{}, r.EchoAnywhere...)}
	if w, is := workloads[r.Class]; is {
		a.Why = w.why
		return a
	}
	a.Why = append(a.Why, actionText(r.Action))
	if r.Later != fault.None {
		a.Why = append(a.Why, fmt.Sprintf("A %s is asked for as well, and waits until the GPU is idle.", r.Later))
	}
	a.Why = append(a.Why, urgency(r))
	if !r.Hardware {
		return a
	}
	switch {
	case r.Class == fault.RecoveryAction:
		a.Why = append(a.Why, "What the driver asks for is done, whatever the catalogue says of the number beside it.")
	case r.Class == fault.FabricManagerDead:
		a.Why = append(a.Why, "Once it runs again, the reset of the GPUs that went on without it is asked for: they have lost multicast (NVLS).")
	case r.Class.IsSXid(), r.Class == fault.IMEXDown: // no GPU's, of which the driver could ask anything
	case r.Floor:
		a.Why = append(a.Why, "The driver's recovery action may raise this, and never lowers it.")
	default:
		a.Why = append(a.Why, "The driver's recovery action (XID 154, or NVML's field) outranks this.")
	}
	return a
}

// actionText says an action as the agent carries it out.
func actionText(a fault.Action) string {
	switch a {
	case fault.Restart:
		return "It is recorded. The program has to be restarted; that is its owner's to do."
	case fault.Hold:
		return "It is recorded and held for a person: the node goes on as it is, and says so."
	case fault.Cordon:
		return "The node is cordoned and waits."
	case fault.Diag, fault.Reset, fault.Reboot, fault.Replace:
		return fmt.Sprintf("The node is cordoned, and the %s is asked for; the agent itself carries out the cordon only.", noun(a))
	}
	return "It is recorded, and changes nothing."
}

func noun(a fault.Action) string {
	switch a {
	case fault.Diag:
		return "diagnosis"
	case fault.Replace:
		return "replacement"
	}
	return a.String()
}

// urgency says why the agent acts at once, or does not.
func urgency(r fault.Rule) string {
	switch {
	case !r.Hardware:
		return "Only a program is to blame: the node stays in service, however often this is printed."
	case r.Hard:
		return "It is hard: the GPU is useless already, so nothing is gained by waiting."
	case r.Action.Cordons():
		return "It is soft: the GPU still serves, so work that runs is let finish."
	}
	return "The GPU still serves."
}

// radiusText says how far a fault reaches.
func radiusText(r fault.Radius) string {
	return r.String() + ": " + map[fault.Radius]string{
		fault.Process:   "the program that ran into it",
		fault.MIG:       "the programs on that MIG instance",
		fault.GPU:       "every program on the GPU",
		fault.Baseboard: "every GPU that shares NVSwitches with it",
		fault.Node:      "every GPU of the node",
		fault.Domain:    "every node of the NVLink domain",
	}[r]
}

// drainText says when work has to leave.
func drainText(d fault.Drain) string {
	return map[fault.Drain]string{
		fault.DrainNever:    "never: what runs may go on",
		fault.DrainWhenIdle: "when idle: what runs may finish, nothing new comes",
		fault.DrainNow:      "now: what runs inside the radius is lost, or must leave",
	}[d]
}

func diagText(level int) string {
	if level == 0 {
		return "none"
	}
	return fmt.Sprintf("DCGM level %d must pass before the node serves again", level)
}

func classList(cs []fault.Class) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}
