package fault

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/serving"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Config is what a site decides about judging. The zero value judges a log
// offline: nothing is polled, so a cure closes its episode at once.
type Config struct {
	// CleanPolls is how many polls in a row must find a GPU in order before its
	// episode closes; it stands in for a passed diagnosis.
	CleanPolls int
	// BootCures takes a boot for the cure of what a boot cures, since nobody can
	// be asked any more: the boots are a saved log's.
	BootCures bool
	// Driver is the driver's version where nobody polls it, such as 570.86.15;
	// empty is unknown. It picks the encoding of NVLink 5's errors.
	Driver string
	// Expect is how many GPUs the node must have; 0 is not said.
	Expect int
	// Fresh is how long the kernel log's word stands against a poll that finds
	// all in order: the poll may have begun before it. Two poll periods.
	Fresh time.Duration
	// Slowdown is how long heat, the power brake or a narrow link must hold a GPU
	// down to be a fault, which is over once it was gone for five times as long.
	// 0 is DefaultSlowdown; five polls, by Fresh, are the least.
	Slowdown time.Duration
	// Topology says which GPUs a fault of a board or of the node reaches where
	// nobody lists them; nil takes every GPU that was named.
	Topology *nvlink.Topology
	// Switches is what the site calls the switch that a link of each number leads
	// to; nobody else knows.
	Switches map[int]string
	// Links say from when on the trend of an NVLink is worth a warning; what is zero is
	// the default.
	Links nvlink.Limits
	// Correlate is how long the neighbours in an NVLink domain are given to say what
	// they see of a fault before anybody is blamed for it; 0 where none can be heard.
	Correlate time.Duration
	// SwitchActs takes a tray out of service for a switch of its rack, which is
	// every tray's and is else held.
	SwitchActs bool
	// RepeatWindow is how long an ended episode makes the next one a repeat.
	RepeatWindow time.Duration
	// Serving is how serving engines are judged. Poll is by Fresh where it is 0.
	Serving serving.Config
	// StallWindow is how long after a stalled replica was started anew another stall on
	// one of its GPUs is the GPU's.
	StallWindow time.Duration
	// RestartStale has decode workers restarted that were left by a prefill worker.
	RestartStale bool
	// Rollout is what such a restart waits for.
	Rollout Rollout
}

// EchoWindow is how long after its root a symptom is still the root's: the
// switches of an HGX board have printed theirs 12 s after the GPU was gone.
const EchoWindow = 60 * time.Second

// DefaultRepeatWindow is how long a repaired fault is remembered.
const DefaultRepeatWindow = 7 * day

// DefaultStallWindow is how long a stall of a serving engine is remembered of a GPU.
const DefaultStallWindow = time.Hour

// hungLimit is how many deadlines in a row make a call hung.
const hungLimit = 2

// lostLimit is how many polls in a row must miss a GPU.
const lostLimit = 2

// Judge is the state machine. It is not safe for concurrent use.
type Judge struct {
	cfg    Config
	boot   string
	serial int
	// driver is the driver's branch, 0 while it is not known.
	driver  int
	open    map[key]*episode
	past    map[key]past
	devices map[xidparse.PCI]*device
	// hangs counts polls in a row in which no call came back at all, asides those
	// in which one beside them did not, mutes those in which no GPU told a value.
	hangs, asides, mutes int
	// nameless counts, by class, those in which a GPU without a name had it.
	nameless map[Class]int
	// short counts polls in a row that listed fewer GPUs than expected.
	short int
	// now is what the verdicts of the moment are made from.
	now present
	// links is how the NVLinks are as a whole.
	links LinkState
	// reported is who is wired to whom, as the node says; nil before it has.
	reported *nvlink.Topology
	// switchless says that the fabric manager found no switch, in its present life.
	switchless bool
	// domain is what the neighbours in the NVLink domain say, nil while none is
	// heard; root is who has claimed the fault which is open.
	domain []nvlink.Summary
	root   blamed
	// managed says that a fabric manager was seen at work on this node.
	managed bool
	imex    imex
	// watch remembers what serving engines have said; served says that they were heard
	// in this life of the agent.
	watch  *serving.Watch
	served bool
	// scrapes are the last, and lastWords what each endpoint has told last of its engines.
	scrapes   []serving.Scrape
	lastWords map[toldAt][]serving.Reading
	// pairs remembers who works with whom in disaggregated serving; grouped says that
	// was heard in this life of the agent.
	pairs   *serving.Pairs
	grouped bool
	// dirty says that a verdict may have changed; a flood does not make it so.
	dirty bool
}

// past is what is kept of an episode that ended.
type past struct {
	Ended time.Time
	Links []int
	// Repaired says that a reset or a boot is known to have ended it.
	Repaired bool `json:",omitempty"`
}

// device is what the judge knows of one GPU.
type device struct {
	UUID string
	// Arbiter is the driver's recovery action, -1 while unknown; Told is when
	// the kernel log said it last.
	Arbiter int
	Told    time.Time
	// Word is the sequence of the record that told it.
	Word uint64
	// Places are the parts of the GPU that programs' faults have blamed.
	Places map[string][]job `json:",omitempty"`
	// Had are the values that the GPU has told in this boot.
	Had map[string]bool `json:",omitempty"`
	// Lost and Hung count polls in a row, State is the last poll's. They are not
	// saved: the present is asked again.
	Lost int `json:"-"`
	Hung int `json:"-"`
	// Failing counts polls in a row that the driver answered with an error, for
	// the GPU or for a value that it told before.
	Failing int       `json:"-"`
	State   *GPUState `json:"-"`
	// Instances are the UUIDs of its MIG instances.
	Instances []string `json:",omitempty"`
	// Stalled is when a replica on it that had stalled was started anew last.
	Stalled time.Time `json:",omitzero"`
	// Missing counts polls in a row in which the bus listed the GPU and the
	// driver did not. Witness is what the bus said last.
	Missing int        `json:"-"`
	Witness *BusDevice `json:"-"`
	// Links follows the NVLinks.
	Links links `json:",omitzero"`
	// Memory follows the error counters, the others how long a slowdown lasts.
	// They begin anew with the agent, which errs on the careful side.
	Memory              ecc.GPU   `json:"-"`
	Hot, Braked, Narrow sustained `json:"-"`
	Replays             replays   `json:"-"`
}

// New makes a judge with nothing open.
func New(cfg Config) *Judge {
	if cfg.RepeatWindow == 0 {
		cfg.RepeatWindow = DefaultRepeatWindow
	}
	if cfg.Slowdown == 0 {
		cfg.Slowdown = DefaultSlowdown
	}
	cfg.Slowdown = max(cfg.Slowdown, sustainedMin*cfg.Fresh/2)
	if cfg.StallWindow == 0 {
		cfg.StallWindow = DefaultStallWindow
	}
	if cfg.Serving.Poll == 0 {
		cfg.Serving.Poll = cfg.Fresh / 2
	}
	return &Judge{cfg: cfg, driver: DriverBranch(cfg.Driver), watch: serving.New(cfg.Serving), pairs: &serving.Pairs{},
		open: map[key]*episode{}, past: map[key]past{}, devices: map[xidparse.PCI]*device{}, nameless: map[Class]int{}}
}

// Step judges one observation and gives the verdicts that it changed, in the
// order in which their episodes opened.
func (j *Judge) Step(now time.Time, o Observation) []Verdict {
	switch f := o.Fact.(type) {
	case Heard:
		j.heard(now, o, f.Event)
		if !j.dirty {
			return nil
		}
	case Boot:
		j.booted(now, f.ID)
	case Inventory:
		j.inventory(now, f)
		j.serving(now)
	case Hung:
		j.hung(now, f)
	case Blind:
		j.blind(now, f)
	case Opinion:
		j.opinion(now, f)
	case Released:
		j.released(f.ID)
	case Repaired:
		j.repaired(now, f)
	case Diagnosed:
		j.shown(now, f.GPU.PCI, DiagFailed)
	case Service:
		j.service(now, f.Event)
	case Neighbours:
		j.neighbours(f)
	case Manager:
		j.manager(now, f)
	case IMEX:
		j.imexSeen(now, f)
	case Probed:
		j.watch.Probed(f.Probe)
	case Served:
		j.hearServed(f)
		j.serving(now)
	case Groups:
		j.hearGroups(now, f)
	case Gap:
		// Nothing was heard, so nothing is judged; the agent polls at once.
	}
	return j.settle(now)
}

// Tick lets time pass: it closes what has been quiet for long enough.
func (j *Judge) Tick(now time.Time) []Verdict {
	j.awaitRollouts(now)
	for _, e := range j.open {
		if j.lapsed(now, e) {
			e.Cured = now
			e.Clean = j.cfg.CleanPolls
			if e.cure() == CureAnew {
				e.How = "nothing more of it came"
			}
		}
	}
	for k, p := range j.past {
		if now.Sub(p.Ended) > j.cfg.RepeatWindow {
			delete(j.past, k)
		}
	}
	return j.settle(now)
}

// lapsed says whether nothing keeps an episode open any more: it has been quiet
// for as long as its rule asks, or for a while after a person overruled it and
// the driver does not bear it out.
func (j *Judge) lapsed(now time.Time, e *episode) bool {
	if e.Released && now.Sub(e.Last) >= appQuiet && j.seenSince(e) && !j.confirms(e) {
		return true
	}
	return (e.cure() == CureQuiet || e.cure() == CureAnew) && now.Sub(e.Last) >= j.quiet(e)
}

// seenSince says whether the present has been asked about an episode's device
// since the start, if anybody asks at all.
func (j *Judge) seenSince(e *episode) bool {
	d := j.devices[e.PCI]
	return j.cfg.CleanPolls == 0 || d == nil || d.State != nil
}

func (j *Judge) released(id string) {
	for _, e := range j.open {
		e.Released = e.Released || e.ID == id
	}
}

// Open gives the present verdict of every open episode, by opening time.
func (j *Judge) Open() []Verdict {
	j.gather()
	var vs []Verdict
	for _, e := range j.ordered() {
		vs = append(vs, j.verdict(e))
	}
	return vs
}

// Counts gives how many lines or polls each open episode has by now, by ID. A
// verdict that was given out has the count of its moment.
func (j *Judge) Counts() map[string]uint64 {
	counts := make(map[string]uint64, len(j.open))
	for _, e := range j.open {
		counts[e.ID] = e.Count
	}
	return counts
}

// Devices gives every GPU that was named, sorted by address.
func (j *Judge) Devices() []Device {
	var ds []Device
	for pci, d := range j.devices {
		ds = append(ds, Device{PCI: pci, UUID: d.UUID})
	}
	sortDevices(ds)
	return ds
}

// settle closes what is cured, a symptom together with its root, and collects
// the verdicts that have changed.
func (j *Judge) settle(now time.Time) []Verdict {
	j.dirty = false
	j.weigh(now)
	j.gather()
	j.blame(now)
	var vs []Verdict
	var over []*episode
	for _, e := range j.ordered() {
		v := j.verdict(e)
		switch root := j.rootOf(e); {
		case root != nil && j.ended(root):
			v = closing(v, "over, with "+string(root.Class))
			over = append(over, e)
		case j.ended(e):
			v = closing(v, "over: "+j.end(e))
			over = append(over, e)
		}
		if !v.same(e.said) {
			vs = append(vs, v)
		}
		e.said = v
	}
	for _, e := range over {
		j.close(now, e)
	}
	return vs
}

func (j *Judge) ended(e *episode) bool {
	held := e.Witness != "" && !e.Confirmed
	return e.Replaced || !held && !e.Cured.IsZero() && e.Clean >= j.cfg.CleanPolls
}

func (j *Judge) close(now time.Time, e *episode) {
	delete(j.open, e.key())
	if e.Replaced || e.Workload != (Workload{}) {
		return // what the GPU before had is nothing to the new one, nor a pod's to the next
	}
	p := past{Ended: now, Repaired: e.Repaired || e.Rebooted}
	for link := range e.Links {
		p.Links = append(p.Links, link)
	}
	j.past[e.key()] = p
}

// closing is the last verdict of an episode.
func closing(v Verdict, why string) Verdict {
	v.Action, v.Later, v.Drain, v.Diag, v.Hard, v.Closed = None, None, DrainNever, 0, false, true
	v.Reason = why
	return v
}

// ordered gives the open episodes by opening time; ties by ID.
func (j *Judge) ordered() []*episode {
	es := make([]*episode, 0, len(j.open))
	for _, e := range j.open {
		es = append(es, e)
	}
	slices.SortFunc(es, func(a, b *episode) int {
		if c := a.Opened.Compare(b.Opened); c != 0 {
			return c
		}
		return compareIDs(a.ID, b.ID)
	})
	return es
}

// compareIDs orders by length first, so that sequence 9 comes before 10.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// episode finds or opens the episode of a class on a device.
func (j *Judge) episode(now time.Time, pci xidparse.PCI, c Class, o Observation) *episode {
	return j.find(now, key{pci: pci, class: c}, o)
}

func (j *Judge) find(now time.Time, k key, o Observation) *episode {
	if e := j.open[k]; e != nil {
		return e
	}
	e := &episode{ID: j.id(o), Class: k.class, rule: RuleFor(k.class), PCI: k.pci, Workload: k.workload, Opened: now, Begun: now, Instance: xidparse.Absent}
	if p, ok := j.past[k]; ok && now.Sub(p.Ended) <= j.cfg.RepeatWindow {
		e.Repeat, e.AfterRepair = true, p.Repaired
	}
	j.open[k] = e
	return e
}

// id names an episode by boot and first record, or by a count of what polls
// have found.
func (j *Judge) id(o Observation) string {
	boot := j.boot[:min(8, len(j.boot))]
	if h, ok := o.Fact.(Heard); ok && !h.ByDriver {
		return fmt.Sprintf("%s-%d", boot, o.Sequence)
	}
	j.serial++
	return fmt.Sprintf("%s-p%d", boot, j.serial)
}

func (j *Judge) device(pci xidparse.PCI) *device {
	d := j.devices[pci]
	if d == nil {
		d = &device{Arbiter: -1}
		j.devices[pci] = d
	}
	return d
}
