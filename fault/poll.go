package fault

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// booted learns which boot this is. Episodes of an older boot stay open, and
// end when the present shows that the boot has cured them; where nobody asks the
// present, the boot itself is the cure.
func (j *Judge) booted(now time.Time, id string) {
	if j.boot != "" && j.boot != id {
		for _, e := range j.open {
			e.Rebooted, e.Unreset = true, nil
			if j.cfg.BootCures && e.cure().byBoot() {
				e.Cured = now
			}
		}
		j.links = LinksUnknown
		for _, d := range j.devices {
			d.Arbiter, d.Lost, d.Hung, d.State, d.Had = -1, 0, 0, nil, nil
			d.Links.retrain(now)
			d.Links.last, d.Links.down = nil, nil
		}
		j.imex = imex{}
	}
	j.boot = id
}

// inventory judges one whole poll.
func (j *Judge) inventory(now time.Time, inv Inventory) {
	if j.allGone(inv) {
		j.blind(now, Blind{Why: "every GPU failed at once, and the kernel log has no line for it"})
		return
	}
	j.hangs = 0
	if major := DriverBranch(inv.Driver); major > 0 {
		j.driver = major
	}
	j.seen(now, key{class: AgentBlind})
	j.seen(now, key{class: DriverMismatch})
	j.unnamed(now, inv)
	j.aside(now, inv)
	j.running()
	none := j.nowhere(inv)
	j.mute(now, none)
	listed := map[xidparse.PCI]bool{}
	for _, g := range inv.GPUs {
		listed[g.PCI] = true
		j.poll(now, g, none)
	}
	missing := map[xidparse.PCI]bool{}
	for _, m := range inv.Missing {
		missing[m.PCI] = true
		j.device(m.PCI).UUID = m.UUID
	}
	guests := guests(inv.Bus)
	for pci, d := range j.devices {
		switch {
		case listed[pci] || d.State == nil && !missing[pci]:
		case guests[pci]:
			d.State, d.Lost = nil, 0 // it was handed over, and is not missed
		case len(inv.Unnamed) == 0: // else it may be one of those
			j.missed(now, pci, d)
		}
	}
	j.activities(now, inv)
	j.nvlinks(now, inv)
	j.lending(now)
	j.links = j.sumLinks()
	j.bus(now, inv, listed)
	for _, e := range j.open {
		j.confirm(e)
	}
}

// guests are the GPUs that are bound to another driver than NVIDIA's, such as
// vfio-pci.
func guests(bus []BusDevice) map[xidparse.PCI]bool {
	found := map[xidparse.PCI]bool{}
	for _, b := range bus {
		if b.Driver != "" && b.Driver != "nvidia" {
			found[b.PCI] = true
		}
	}
	return found
}

// answered says whether the driver has answered for any GPU at all.
func answered(inv Inventory) bool {
	return slices.ContainsFunc(inv.GPUs, func(g GPUState) bool { return !g.Lost && g.Failed == "" })
}

// hangs says whether a GPU was asked and has not answered: that is no container
// without devices, which answers at once.
func hangs(inv Inventory) bool {
	return slices.ContainsFunc(inv.GPUs, func(g GPUState) bool { return g.Stuck }) ||
		slices.ContainsFunc(inv.Unnamed, func(u Unnamed) bool { return u.Stuck })
}

// allLost says whether every GPU is said to be off the bus by name: a container
// that has lost its devices hears another error, at the latest in another child.
func allLost(inv Inventory) bool {
	return len(inv.GPUs) > 0 && len(inv.Unnamed) == 0 &&
		!slices.ContainsFunc(inv.GPUs, func(g GPUState) bool { return !g.Lost })
}

// allGone says whether every GPU failed at once although the kernel log names
// no dead one: then it is this agent that has lost its devices, not the node. One
// without a name cannot be blamed alone.
func (j *Judge) allGone(inv Inventory) bool {
	known := 2 * len(inv.Unnamed)
	for _, m := range inv.Missing {
		if d := j.devices[m.PCI]; d == nil || d.State == nil {
			known++
		}
	}
	for _, d := range j.devices {
		if d.State != nil {
			known++
		}
	}
	if answered(inv) || hangs(inv) || inv.Renewed && allLost(inv) {
		return false
	}
	for _, e := range j.open {
		if e.Class == XID79 || e.Class == GPULost {
			return false
		}
	}
	return known > 1
}

// Blind says whether no GPU can be asked, by the last poll, and no GPU is to
// blame.
func (j *Judge) Blind() bool {
	e := j.open[key{class: AgentBlind}]
	return e != nil && e.Cured.IsZero()
}

// poll judges what one poll says of one GPU; none are the values that no GPU told.
func (j *Judge) poll(now time.Time, g GPUState, none map[string]bool) {
	d := j.device(g.PCI)
	if g.UUID != "" {
		j.replaced(g.PCI, d, g.UUID)
		d.UUID = g.UUID
	}
	d.State = &g
	if g.Lost {
		j.missed(now, g.PCI, d)
		return
	}
	d.Lost = 0
	if g.Failed != "" {
		j.failing(now, d, g)
		return
	}
	d.Hung = 0
	if g.Recovery != nil && (*g.Recovery != recoverNone || now.Sub(d.Told) > j.cfg.Fresh) {
		j.arbiter(now, Observation{}, g.PCI, *g.Recovery, "")
	}
	j.answers(now, d, g, none)
	j.memory(now, d, g, none[eccAnswer])
	j.slowdown(now, d, g)
	for _, e := range j.open {
		if e.PCI == g.PCI && !e.Class.IsSXid() {
			j.clean(now, e, g)
		}
	}
}

// replaced ends what was wrong with a GPU at whose address another one sits.
func (j *Judge) replaced(pci xidparse.PCI, d *device, uuid string) {
	if d.UUID == "" || d.UUID == uuid {
		return
	}
	for _, e := range j.open {
		if e.PCI == pci && !e.Class.IsSXid() {
			e.Replaced = true
		}
	}
	for k := range j.past {
		if k.pci == pci {
			delete(j.past, k)
		}
	}
	d.Had, d.Memory, d.Replays = nil, ecc.GPU{}, replays{}
}

// failing counts a poll that the driver answered for one GPU with an error.
func (j *Judge) failing(now time.Time, d *device, g GPUState) {
	if g.Stuck {
		return // told as a hang
	}
	if d.Failing++; d.Failing >= lostLimit {
		j.shown(now, g.PCI, GPUFailed)
	}
}

// clean counts a poll in which a GPU was in order towards the cure. Nothing has
// cured a GPU for which the driver asks for a recovery: no boot, for one.
func (j *Judge) clean(now time.Time, e *episode, g GPUState) {
	asks := g.Recovery != nil && *g.Recovery != recoverNone
	if now.Sub(e.Last) <= j.cfg.Fresh || asks && e.rule.Hardware {
		return
	}
	cured := false
	switch e.cure() {
	case CureReset:
		cured = e.Rebooted || !e.Cured.IsZero()
	case CureAnswers, CureAnswersOrReset:
		cured = !j.unanswered(e, g)
	case CureRemapped:
		cured = g.Memory.Pending != nil && !*g.Memory.Pending
	case CureSteady:
		cured = j.devices[g.PCI].Links.goodFor(now, e.Class) >= RuleFor(e.Class).Quiet
	case CureCalm:
		cured = j.devices[g.PCI].Memory.Calm >= RuleFor(e.Class).Quiet
	}
	if cured && e.Cured.IsZero() {
		e.Cured = now
	}
	if !e.Cured.IsZero() {
		e.Clean++
	}
}

// seen counts a poll that got through towards the end of a fault of the whole
// node.
func (j *Judge) seen(now time.Time, k key) {
	if e := j.open[k]; e != nil {
		if e.Cured.IsZero() {
			e.Cured = now
		}
		e.Clean++
	}
}

// missed counts a poll that did not find a GPU.
func (j *Judge) missed(now time.Time, pci xidparse.PCI, d *device) {
	d.Lost++
	d.Links.retrain(now)
	for _, e := range j.open {
		if e.PCI == pci && e.cure() != CureQuiet {
			e.Cured, e.Clean = time.Time{}, 0
		}
	}
	if d.Lost >= lostLimit {
		j.wasReset(now, pci)
		j.shown(now, pci, GPULost)
	}
}

// hung judges a driver call past its deadline.
func (j *Judge) hung(now time.Time, h Hung) {
	if h.Device.PCI == (xidparse.PCI{}) {
		if j.hangs++; j.hangs >= hungLimit {
			j.shown(now, xidparse.PCI{}, DriverHung).Polled = true
		}
		return
	}
	d := j.device(h.Device.PCI)
	if h.Device.UUID != "" {
		d.UUID = h.Device.UUID
	}
	d.Hung++
	for _, e := range j.open {
		if e.PCI == h.Device.PCI && e.cure() != CureQuiet {
			e.Cured, e.Clean = time.Time{}, 0
		}
	}
	if d.Hung >= hungLimit {
		j.shown(now, h.Device.PCI, DriverHung)
	}
}

// aside judges a call beside the polls that does not return. While they come
// back, the GPUs can be asked: that is for a person, and no reason to reboot.
func (j *Judge) aside(now time.Time, inv Inventory) {
	if inv.Stuck == nil {
		j.asides = 0
		if answered(inv) && j.nameless[DriverHung] == 0 {
			j.seen(now, key{class: DriverHung})
		}
		return
	}
	if j.asides++; j.asides >= hungLimit {
		j.shown(now, xidparse.PCI{}, DriverHung).Aside = inv.Stuck.Call
	}
}

// blind judges a driver that cannot be asked: nobody's hardware is blamed.
func (j *Judge) blind(now time.Time, b Blind) {
	c := AgentBlind
	if b.Mismatch {
		c = DriverMismatch
	}
	j.shown(now, xidparse.PCI{}, c).explain(b.Why)
}

// shown opens or goes on with an episode that a poll shows. What is seen now
// needs no other proof.
func (j *Judge) shown(now time.Time, pci xidparse.PCI, c Class) *episode {
	e := j.episode(now, pci, c, Observation{})
	fresh := e.Count == 0
	e.add(now, "")
	e.Confirmed = true
	j.reroot(now, e, fresh)
	return e
}

// confirm lets the present speak for an episode that only history told of.
func (j *Judge) confirm(e *episode) { e.Confirmed = e.Confirmed || j.confirms(e) }

// confirms says whether the last poll bears an episode out.
func (j *Judge) confirms(e *episode) bool {
	d := j.devices[e.PCI]
	if d == nil || d.State == nil {
		// An agent that has never met the GPU knows it from the bus alone.
		return e.Class == XID79 && d != nil && d.Missing > 0
	}
	if d.Lost > 0 || d.Arbiter > recoverNone {
		return true
	}
	switch e.Class {
	case XID64, RemapFailed:
		m := d.State.Memory
		return m.Failed != nil && *m.Failed || m.Retired != nil && m.Retired.Exhausted()
	case RemapPending:
		return d.State.Memory.Pending != nil && *d.State.Memory.Pending
	}
	return false
}
