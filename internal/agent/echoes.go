package agent

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/inventory"
	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// NVML announces the XIDs that the kernel log prints, without their text. One
// that both tell is told once, by the log; one that only NVML tells was in a
// gap of the log, or the log is not heard at all.
const (
	// echoPatience is how long the log is given to tell an announced XID.
	echoPatience = 5 * time.Second
	// echoMemory is how long a line explains announcements of its like.
	echoMemory = 30 * time.Second
)

// echoes matches announcements with lines. Its size is bounded by GPUs times
// codes.
type echoes struct {
	lines     map[announced]time.Time
	announces map[announced]time.Time
}

type announced struct {
	pci  xidparse.PCI
	code int
}

func newEchoes() echoes {
	return echoes{lines: map[announced]time.Time{}, announces: map[announced]time.Time{}}
}

// line takes in what the kernel log told.
func (e *echoes) line(now time.Time, ev xidparse.Event) {
	if ev.HasPCI && (ev.Kind == xidparse.KindXID || ev.Kind == xidparse.KindOffBus) {
		e.lines[announced{ev.PCI, ev.Code}] = now
	}
}

// announce takes in what NVML told. XID 154 is left out: without its text it
// says nothing, and what it says is polled.
func (e *echoes) announce(now time.Time, x nvml.XID, known *inventory.Map) {
	g, ok := known.ByUUID(x.UUID)
	if !ok || x.Code == 154 {
		return
	}
	k := announced{g.PCI, x.Code}
	if _, waits := e.announces[k]; !waits {
		e.announces[k] = now
	}
}

// unheard gives the announcements that no line has explained in time.
func (e *echoes) unheard(now time.Time) []fault.Fact {
	var facts []fault.Fact
	for k, at := range e.announces {
		if now.Sub(at) < echoPatience {
			continue
		}
		delete(e.announces, k)
		if line, ok := e.lines[k]; ok && at.Sub(line) < echoMemory {
			continue
		}
		facts = append(facts, fault.Heard{ByDriver: true, Event: xidparse.Event{Kind: xidparse.KindXID, Code: k.code, PCI: k.pci, HasPCI: true,
			GPUInstance: xidparse.Absent, ComputeInstance: xidparse.Absent, Link: xidparse.Absent,
			Message: "announced by NVML; the kernel log has no line for it"}})
	}
	for k, at := range e.lines {
		if now.Sub(at) > echoMemory {
			delete(e.lines, k)
		}
	}
	return facts
}
