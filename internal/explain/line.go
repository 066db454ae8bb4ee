package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Line is what a whole line says beside its number.
type Line struct {
	// Facts are what stands in the line, in the order in which they are shown.
	Facts []Fact `json:"facts"`
	// Verdict is what the judge makes of the line alone, as replay prints it; nil
	// where it opens no fault.
	Verdict *replay.VerdictLine `json:"verdict"`
}

// Fact is one thing that a line says.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// line reads everything that the parser and the decoders find in the line, and
// has the judge judge it as if it were the only one; the verdict is zero where it
// opens no fault.
func (s subject) line(driver string) (*Line, fault.Verdict) {
	l := &Line{Facts: []Fact{}}
	if s.why != "" && s.event.Kind == xidparse.KindNone {
		return l, fault.Verdict{}
	}
	ev := s.event
	l.identity(ev)
	l.details(ev, driver)
	l.add(ev.Message != "", "message", ev.Message)
	judge := fault.New(fault.Config{Driver: driver})
	start := time.Unix(0, 0).UTC()
	judge.Step(start, fault.Observation{Fact: fault.Boot{ID: "explain"}})
	vs := judge.Step(start, fault.Observation{Sequence: 1, Fact: fault.Heard{Event: ev}})
	if len(vs) == 0 {
		return l, fault.Verdict{}
	}
	verdict := replay.NewVerdictLine(vs[0])
	l.Verdict = &verdict
	return l, vs[0]
}

func (l *Line) add(present bool, name, value string) {
	if present {
		l.Facts = append(l.Facts, Fact{name, value})
	}
}

// identity says whom the line names.
func (l *Line) identity(ev xidparse.Event) {
	device := "GPU"
	if ev.Kind == xidparse.KindSXID {
		device = "switch"
	}
	l.add(ev.HasPCI, device, ev.PCI.String())
	l.add(!ev.HasPCI, device, "not named; a driver instance such as GPU6 is no address, and none is guessed")
	l.add(ev.UUID != "", "UUID", ev.UUID)
	l.add(ev.GPUInstance != xidparse.Absent, "GPU instance", strconv.Itoa(ev.GPUInstance))
	l.add(ev.ComputeInstance != xidparse.Absent, "compute instance", strconv.Itoa(ev.ComputeInstance))
	l.add(ev.PID != 0 || ev.Process != "", "process", process(ev))
	link := strconv.Itoa(ev.Link)
	if ev.Link == -1 {
		link = "-1, the whole device"
	}
	l.add(ev.Link != xidparse.Absent, "link", link)
	l.add(ev.CausedBy != 0, "caused by", fmt.Sprintf("XID %d before it", ev.CausedBy))
}

func process(ev xidparse.Event) string {
	name := ev.Process
	if name == "" {
		name = "no name"
	}
	if ev.PID != 0 {
		name += fmt.Sprintf(" (pid %d)", ev.PID)
	}
	if ev.Kind == xidparse.KindXID && (ev.Code == 119 || ev.Code == 120) {
		name += ", who only asked: a victim"
	}
	return name
}

// details says what the text adds to the number.
func (l *Line) details(ev xidparse.Event, driver string) {
	l.add(ev.Place() != "", "place", ev.Place())
	l.add(ev.SwitchSeverity() != xidparse.SeverityUnknown, "severity", ev.SwitchSeverity().String())
	l.add(ev.Memory() == xidparse.MemoryDRAM, "memory", "DRAM, the framebuffer: its rows can be remapped")
	l.add(ev.Memory() == xidparse.MemorySRAM, "memory", "SRAM, on the chip: nothing can be remapped")
	reset, drain := ev.ResetHint()
	l.add(reset != xidparse.Unknown, "RST", answer(reset, "the GPU must be reset"))
	l.add(drain != xidparse.Unknown, "D-RST", answer(drain, "it must be drained, then reset"))
	if from, to, ok := ev.Recovery(); ok {
		l.add(true, "recovery action", fmt.Sprintf("from %d to %d: %s", from, to, fault.RecoveryText(to)))
	}
	if regs, n := ev.Registers(); n > 0 && ev.Code == 74 {
		t := nvlink.Triage(regs)
		l.add(true, "registers", fmt.Sprintf("%s: %s", t.Result, t.Reason))
	}
	if body, ok := ev.NVLink5(); ok {
		l.decode(ev, body, driver)
	}
}

func answer(a xidparse.Answer, yes string) string {
	if a == xidparse.Yes {
		return "yes: " + yes
	}
	return "no"
}

// decode tells NVLink 5's body and the row of the decode table that it is.
func (l *Line) decode(ev xidparse.Event, body xidparse.NVLink5, driver string) {
	l.add(true, "unit", fmt.Sprintf("%s, %s by its own word", body.Unit, body.Severity))
	l.add(body.Injected, "injected", "by a test")
	row, ok := nvlink.Decode(nvlink.Report{XID: ev.Code, Unit: body.Unit, Words: body.Words[:body.N]}, fault.DriverBranch(driver))
	if !ok {
		l.add(true, "decode table", "has no such row; the severity word and XID 154 decide")
		return
	}
	text := row.Do.String() + " (" + row.Reason + ")"
	text += map[nvlink.Blame]string{nvlink.BlamePeer: "; the far end of the link is to blame", nvlink.BlameHost: "; the host is to blame",
		nvlink.BlameSoftware: "; the driver, or whoever took the link down, is to blame"}[row.Blame]
	l.add(true, "decode table", text)
	l.add(row.Investigate != "", "look at", strings.TrimSuffix(row.Investigate, "."))
}
