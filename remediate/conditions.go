package remediate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

func (p *Plan) gpuCondition() Condition {
	for _, i := range p.ranked() {
		if i.sick() && !ofLinks(i.Verdict.Class) {
			return broken([]*Incident{i})
		}
	}
	switch {
	case !p.sources.Polled:
		return Condition{"Unknown", "DriverNotAsked", "the driver has not answered yet"}
	case p.sources.Blind != "":
		return Condition{"Unknown", "DriverNotAsked", "the driver cannot be asked"}
	case p.sources.Deaf != "":
		return Condition{"Unknown", "KernelLogDeaf", "the kernel log cannot be heard"}
	}
	if slices.ContainsFunc(p.state.Open, (*Incident).sick) {
		return Condition{"True", "NoActingFault", "no fault that takes a GPU out of service but those of its NVLinks, which NVLinkHealthy tells"}
	}
	return Condition{"True", "NoActingFault", "no fault that takes a GPU out of service"}
}

// nvlinkCondition says how the NVLinks are: what is broken, what is on its way or was
// broken a moment ago, and beside good ones what is recorded.
func (p *Plan) nvlinkCondition() Condition {
	var down, watched, recorded []*Incident
	for _, i := range p.ranked() {
		switch v := i.Verdict; {
		case i.State == Probation || !ofLinks(v.Class) && v.Class != fault.NVLinkDegrading:
		case !i.sick() && !i.heldLinks():
			recorded = append(recorded, i)
		case v.Watched:
			watched = append(watched, i)
		default:
			down = append(down, i)
		}
	}
	switch links := p.sources.Links; {
	case len(down) > 0:
		return broken(down)
	case p.sources.Blind != "":
	case len(watched) > 0:
		return Condition{"Unknown", "LinksSettling", "NVLinks are up again, and watched: " + faults(watched)}
	case links == fault.LinksNone:
		return Condition{"Unknown", "NoNVLink", "no GPU has an NVLink"}
	case links == fault.LinksSettling:
		return Condition{"Unknown", "LinksSettling", "NVLinks or fabric are not up yet, and are given their time"}
	case links == fault.LinksGood && len(recorded) > 0:
		return Condition{"True", "LinksUp", "every NVLink that should be up is; recorded: " + faults(recorded)}
	case links == fault.LinksGood:
		return Condition{"True", "LinksUp", "every NVLink that should be up is"}
	}
	return Condition{"Unknown", "LinksNotPolled", "no link error in the kernel log; link state is not polled"}
}

// faults names the classes and incidents of some, at most four of them.
func faults(is []*Incident) string {
	var names []string
	for _, i := range is[:min(len(is), 4)] {
		names = append(names, fmt.Sprintf("%s (incident %s)", i.Verdict.Class, i.Verdict.ID))
	}
	if more := len(is) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// heldLinks says whether links or fabric are down and nobody is cordoned for it.
func (i *Incident) heldLinks() bool {
	v := i.Verdict
	code, _ := v.Class.Code()
	return v.Action == fault.Hold && (v.Class == fault.LinksDown || v.Class == fault.FabricUnhealthy || code >= 144 && code <= 150)
}

// ofLinks says whether a class is about NVLink rather than about its GPU.
func ofLinks(c fault.Class) bool {
	code, ok := c.Code()
	return c.IsSXid() || c == fault.LinksDown || c == fault.FabricUnhealthy || c == fault.FabricManagerDead || ok && (code == 74 || code >= 144 && code <= 150)
}

// broken is a condition for incidents, the worst first, whose words stay the same while
// its cause does.
func broken(is []*Incident) Condition {
	var gpus []fault.Device
	for _, i := range is {
		gpus = union(gpus, i.Verdict.GPUs)
	}
	ids, incidents := make([]string, len(is)), "incident "
	for n, i := range is {
		ids[n] = i.Verdict.ID
	}
	if slices.Sort(ids); len(ids) > 1 {
		incidents = "incidents "
	}
	return Condition{"False", camel(string(is[0].Verdict.Class)), strings.TrimSpace(devices(gpus) + " " + incidents + strings.Join(ids, ", "))}
}

// camel turns a class name into a reason, which the API wants in CamelCase.
func camel(s string) string {
	var b strings.Builder
	for _, part := range strings.Split(s, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
