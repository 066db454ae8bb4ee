package fault

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// evidenceLines bounds the lines kept with an episode.
const evidenceLines = 4

// key is what makes two observations one episode. A switch is keyed by its own
// address, a workload by its name; a fault of the whole node has neither.
type key struct {
	pci      xidparse.PCI
	class    Class
	workload Workload
}

// episode is one fault from its first line to its end. Exported fields are its
// saved form.
type episode struct {
	ID    string
	Class Class
	PCI   xidparse.PCI
	// Workload is whose fault it is, where it is no device's. Its GPUs are by UUID, and
	// Life is that of its processes which has the fault.
	Workload Workload `json:",omitzero"`
	GPUs     []string `json:",omitempty"`
	Life     string   `json:",omitempty"`
	// Lost is the peer that the workload was left by, of its Group. Waits says that a
	// restart would be in vain, since others of them are being replaced.
	Lost     string `json:",omitempty"`
	Group    string `json:",omitempty"`
	Waits    bool   `json:",omitempty"`
	Opened   time.Time
	Last     time.Time
	Count    uint64
	Evidence []string
	// Confirmed is false while only history speaks for the episode.
	Confirmed bool
	// Witness is who holds it beside the driver and the kernel, empty for nobody.
	Witness string `json:",omitempty"`
	// Root is the key of the episode that this one echoes.
	Root *episodeRef
	// Memory collects the reports of a memory incident, as bits.
	Memory uint16
	// Instance is the MIG GPU instance, or xidparse.Absent; Spread says that it was
	// another before.
	Instance int
	Spread   bool `json:",omitempty"`
	// Links counts XID 74, and NVLink 5 errors that ask for a reset, by link; -1 is
	// no link by name. Triage is the strongest triage so far.
	Links  map[int]int
	Triage *nvlink.Triage74
	// Link5 is the strongest line of an NVLink 5 error so far.
	Link5 *link5
	// Detail is what polls say of links and fabric, in words that stay the same
	// while it does, and Reach how far that goes. Held says that nobody waits for
	// what is on its way, or that only neighbours could tell who is to blame.
	Detail []string `json:",omitempty"`
	Reach  Radius   `json:",omitempty"`
	Held   bool     `json:",omitempty"`
	// Watched says that links and fabric are in order again, and have to stay so.
	Watched bool `json:",omitempty"`
	// Begun is when its window began, in which others say what they see of it;
	// Weighed says that this is over. Faded: it only echoed, and has been quiet.
	Begun   time.Time `json:",omitzero"`
	Weighed bool      `json:",omitempty"`
	Faded   bool      `json:",omitempty"`
	// Unreset are the GPUs that went on without the fabric manager, which runs again,
	// and were not reset since; sorted.
	Unreset []xidparse.PCI `json:",omitempty"`
	// Severity is the worst that a switch has said of its error.
	Severity xidparse.Severity
	// Suspicion says why programs' faults point to the GPU, empty when they do
	// not.
	Suspicion string
	// Askers are the first processes whose call the GPU did not answer.
	Askers []string
	// Peak is the worst rate of a storm, in corrected errors a second.
	Peak float64 `json:",omitempty"`
	// Polled says that polls have found it, and not the kernel log alone.
	Polled bool `json:",omitempty"`
	// Aside is the call that did not return while polls did, empty for none.
	Aside string `json:",omitempty"`
	// Unnamed says which GPU it is of, where that one has not told who it is.
	Unnamed string `json:",omitempty"`
	// Asked says that the arbiter asked for something during the episode.
	Asked bool
	// Sure says that GPUs have borne out what a serving engine says, Cold that the engine
	// had computed nothing in its life.
	Sure bool `json:",omitempty"`
	Cold bool `json:",omitempty"`
	// How says in words how it ended, where its cure does not.
	How string `json:",omitempty"`
	// Anew says that it ended since the workload was started anew, or is gone.
	Anew bool `json:",omitempty"`
	// Rebooted says that the host was booted anew since it was seen last.
	Rebooted bool
	// Cured is when the evidence of the cure came, zero before; Clean counts
	// the clean polls since.
	Cured time.Time
	Clean int
	// Released says that a person put the node back to service.
	Released bool
	// Replaced says that another GPU sits at the address by now.
	Replaced bool
	// Repeat says that the same fault stood here within the repeat window.
	Repeat bool
	// Repaired says that the GPU was reset since it was seen last, AfterRepair that
	// what stood here before was ended by a reset or a boot.
	Repaired, AfterRepair bool `json:",omitempty"`

	said Verdict
	rule Rule
}

// mark is all of an episode that its verdict depends on, but for the count.
type mark struct {
	confirmed, cured, echo bool
	suspicion              string
	askers                 int
	memory                 uint16
	instance               int
	triage                 nvlink.Triage74
	severity               xidparse.Severity
	link5                  link5
	links                  int
}

func (e *episode) mark() mark {
	m := mark{confirmed: e.Confirmed, cured: !e.Cured.IsZero(), echo: e.Root != nil, memory: e.Memory, instance: e.Instance,
		severity: e.Severity, suspicion: e.Suspicion, askers: len(e.Askers), links: len(e.Links)}
	if e.Triage != nil {
		m.triage = *e.Triage
	}
	if e.Link5 != nil {
		m.link5 = *e.Link5
	}
	return m
}

// episodeRef names another episode, in a form that can be saved.
type episodeRef struct {
	PCI      xidparse.PCI
	Class    Class
	Workload Workload `json:",omitzero"`
}

func (r episodeRef) key() key { return key{r.PCI, r.Class, r.Workload} }

func (e *episode) key() key { return key{e.PCI, e.Class, e.Workload} }

func (e *episode) ref() *episodeRef { return &episodeRef{e.PCI, e.Class, e.Workload} }

// ofNode says whether it is a fault of the whole node.
func (e *episode) ofNode() bool { return e.PCI == (xidparse.PCI{}) && e.Workload == (Workload{}) }

// add counts one observation of the episode.
func (e *episode) add(now time.Time, text string) {
	e.Count++
	e.Last = now
	e.Cured, e.Clean, e.Rebooted, e.Repaired = time.Time{}, 0, false, false
	if len(e.Evidence) < evidenceLines && text != "" {
		e.Evidence = append(e.Evidence, text)
	}
}

// explain says what polls have seen, where nothing said it before.
func (e *episode) explain(text string) {
	if len(e.Evidence) == 0 && text != "" {
		e.Evidence = []string{text}
	}
}

// remember folds a memory report into the episode.
func (e *episode) remember(m ecc.Memory) { e.Memory = ecc.FromBits(e.Memory).Merge(m).Bits() }

// count counts an error of a link.
func (e *episode) count(link int) {
	if e.Links == nil {
		e.Links = map[int]int{}
	}
	if len(e.Links) < maxLinks || e.Links[link] > 0 {
		e.Links[link]++
	}
}

// link counts an XID 74 and keeps the strongest triage that acts: a harmless
// bit acts once its link has shown it often enough.
func (e *episode) link(ev xidparse.Event) {
	e.count(ev.Link)
	t := nvlink.Triage74{Result: nvlink.Unknown, Times: 1, Reason: "the line has no registers"}
	if regs, n := ev.Registers(); n > 0 {
		t = nvlink.Triage(regs)
	}
	if t.Result == nvlink.Repeat && e.Links[ev.Link] >= t.Times {
		t.Result = nvlink.Hardware
		t.Reason += ", and the same link has shown it often enough"
	}
	if e.Triage == nil || t.Result > e.Triage.Result {
		e.Triage = &t
	}
}

// shownAskers bounds the victims that are named, maxAskers those that are
// counted.
const shownAskers, maxAskers = 4, 32

// ask names the process that waited for the GPU in vain. It is a victim, and
// most often an agent that only asks how things are.
func (e *episode) ask(ev xidparse.Event) {
	if ev.Process == "" || len(e.Askers) == maxAskers || slices.Contains(e.Askers, ev.Process) {
		return
	}
	e.Askers = append(e.Askers, ev.Process)
}

// maxLinks is above the links of any GPU (18) and bounds a hostile log.
const maxLinks = 32

// memoryReport says what one XID reports of the memory.
func memoryReport(ev xidparse.Event) ecc.Memory {
	var m ecc.Memory
	switch ev.Code {
	case 48:
		m = m.Add(ecc.DoubleBit)
	case 63:
		m = m.Add(ecc.RemapPending)
	case 64:
		m = m.Add(ecc.RemapFailed)
	case 94:
		m = m.Add(ecc.Contained)
	case 95:
		m = m.Add(ecc.Uncontained)
	}
	switch ev.Memory() {
	case xidparse.MemoryDRAM:
		m = m.Add(ecc.DRAM)
	case xidparse.MemorySRAM:
		m = m.Add(ecc.SRAM)
	case xidparse.MemoryUnknown:
	}
	rst, drst := ev.ResetHint()
	if rst == xidparse.Yes {
		m = m.Add(ecc.ResetAsked)
	}
	if drst == xidparse.Yes {
		m = m.Add(ecc.DrainAsked)
	}
	return m
}
