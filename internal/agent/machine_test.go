package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/remediate/store"
)

// machine is a host with GPUs that break and can be repaired. It looks after
// itself that nothing is done to it that must not be.
type machine struct {
	mu sync.Mutex
	standing
	world *world
	// disk reads what the agent has written down.
	disk func() store.Snapshot
	// lapses are the deeds of which nobody shall know how they ended.
	lapses []lapse
}

// standing is all of a machine that outlives a process.
type standing struct {
	Cards [gpus]card
	// Paused: the operator's services do not run.
	Paused bool
	// Notes are the annotations of requests.
	Notes map[string]string
	Boot  int
	// Polls counts those that the driver has answered.
	Polls int
	// Down is when the host goes down; zero is never.
	Down time.Time
	// Said is what the kernel has said in this boot.
	Said []string
	// Deeds is what was done, in order.
	Deeds []string
	// Once are the things that have happened.
	Once map[string]bool
	// Wrong is what must not have been done.
	Wrong []string
}

// card is one GPU.
type card struct {
	// Cure is what ends its fault: a reset, a reboot or, with StepReplace, neither;
	// empty is no fault.
	Cure remediate.StepKind
	// Lost: it has fallen off the bus. Pending: a row waits to be remapped.
	Lost, Pending bool
	Persistence   bool
	Pods          []pod
	// Service: a service of the host holds it, which no drain moves. One that Yields
	// goes once a reset was refused for it.
	Service, Yields bool
	Resets          int
}

// pod is one on a GPU.
type pod struct {
	Name string
	// Takes is how long it needs to leave, and Leaves when it will have left.
	Takes  time.Duration
	Leaves time.Time
	// Stays: it leaves only by force.
	Stays bool
	// Out: it is out of rotation.
	Out bool
}

// lapse is a deed of which nobody knows how it ended: it was done, or was not.
type lapse struct {
	Deed string
	Done bool
}

func newMachine(w *world) *machine {
	m := &machine{world: w}
	m.Notes, m.Once = map[string]string{}, map[string]bool{}
	for n := range m.Cards {
		m.Cards[n].Persistence = true
	}
	return m
}

func (m *machine) wrong(format string, args ...any) {
	m.Wrong = append(m.Wrong, fmt.Sprintf(format, args...))
}

// once says whether a thing has its first time, where it is due.
func (m *machine) once(what string, due bool) bool {
	if !due || m.Once[what] {
		return false
	}
	m.Once[what] = true
	return true
}

// deedOnDisk is the deed that the agent has written down; its ID is empty where
// there is none.
func deedOnDisk(snap store.Snapshot) (d struct {
	remediate.Deed
	Watched bool
}) {
	var plan struct{ Deed json.RawMessage }
	if json.Unmarshal(snap.Plan, &plan) == nil && len(plan.Deed) > 0 {
		_ = json.Unmarshal(plan.Deed, &d)
	}
	return d
}

// may checks what must hold whenever a deed changes anything: the node is closed,
// and the disk has the deed, and the word by which to put the change back.
func (m *machine) may(what string, deed remediate.Deed, undo string) {
	if !m.world.cordoned() {
		m.wrong("%s for %s on a node that serves", what, deed.ID)
	}
	had := deedOnDisk(m.disk())
	if had.ID != deed.ID || had.Undoing || had.Watched {
		m.wrong("%s for %s, and the disk has %q, undoing %v, watched %v", what, deed.ID, had.ID, had.Undoing, had.Watched)
	}
	if undo != "" && !slices.Contains(had.Undo, undo) {
		m.wrong("%s for %s, and the disk does not have %q to put back", what, deed.ID, undo)
	}
}

// did says whether a deed has had its effect.
func (m *machine) did(deed string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.Deeds, func(d string) bool { return d == deed })
}

// done puts down that a deed has its effect, which it may have once.
func (m *machine) done(deed string) {
	if slices.Contains(m.Deeds, deed) {
		m.wrong("%s is done twice", deed)
	}
	m.Deeds = append(m.Deeds, deed)
}

// on gives the cards of a deed, by their number.
func (m *machine) on(deed remediate.Deed) map[int]*card {
	cards := map[int]*card{}
	for n := range m.Cards {
		if deed.Whole || slices.ContainsFunc(deed.GPUs, func(d fault.Device) bool { return d.PCI == mustPCI(address(n)) }) {
			cards[n] = &m.Cards[n]
		}
	}
	return cards
}

// reset resets the GPUs of a deed, and checks that it may.
func (m *machine) reset(deed remediate.Deed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n, c := range m.on(deed) {
		if c.Persistence || !m.Paused {
			m.wrong("reset of GPU %d with its persistence %v, the services paused %v", n, c.Persistence, m.Paused)
		}
	}
	m.renew(deed)
}

// renew is what a reset does, whoever does it.
func (m *machine) renew(deed remediate.Deed) {
	m.may("reset", deed, "")
	m.done(deed.ID)
	for n, c := range m.on(deed) {
		if c.Cure == "" && !c.Pending {
			m.wrong("reset of healthy GPU %d", n)
		}
		if len(c.pods(time.Now())) > 0 || c.Service {
			m.wrong("reset of GPU %d in use: %+v", n, *c)
		}
		if c.Resets++; c.Resets > 1 {
			m.wrong("GPU %d is reset again", n)
		}
		if c.Pending = false; c.Cure == remediate.StepReset {
			c.Cure = ""
		}
	}
}

// goDown has the host go down soon, and checks that it may.
func (m *machine) goDown(deed remediate.Deed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.may("reboot", deed, "")
	if m.done(deed.ID); !m.once("reboot", true) {
		m.wrong("the host is rebooted again")
	}
	for n, c := range m.Cards {
		if len(c.pods(time.Now())) > 0 {
			m.wrong("reboot under the pods of GPU %d", n)
		}
	}
	m.Down = time.Now().Add(8 * time.Second)
}

// up is the next boot of the host, if it was to go down by now.
func (m *machine) up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Down.IsZero() || time.Now().Before(m.Down) {
		return false
	}
	m.Boot, m.Down, m.Said = m.Boot+1, time.Time{}, nil
	for n := range m.Cards {
		c := &m.Cards[n]
		c.Pods, c.Service, c.Lost, c.Pending, c.Persistence = nil, false, false, false, true
		if c.Cure != remediate.StepReplace {
			c.Cure = ""
		}
	}
	return true
}

func (m *machine) bootID() string { return fmt.Sprintf("%08d-boot", m.Boot+1) }

// pods are those that have not left.
func (c *card) pods(now time.Time) (left []pod) {
	for _, p := range c.Pods {
		if p.Leaves.IsZero() || now.Before(p.Leaves) {
			left = append(left, p)
		}
	}
	return left
}

// inventory is what the driver says of the GPUs.
func (m *machine) inventory() nvml.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Polls++
	return inventoryOf(func(g *nvml.GPU) {
		c, asks := m.Cards[g.Index], 1
		g.Lost, g.Remap.Pending = c.Lost, c.Pending
		if c.Cure != "" {
			g.Recovery = &asks
		}
	})
}

// Occupancy tells who holds GPUs; a service of the host is no work.
func (m *machine) occupancy() remediate.Occupancy {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := remediate.Occupancy{At: time.Now(), Holders: []remediate.Holder{}}
	for n := range m.Cards {
		o.Holders = append(o.Holders, m.holders(n)...)
	}
	return o
}

func (m *machine) holders(n int) (hs []remediate.Holder) {
	for _, p := range m.Cards[n].pods(time.Now()) {
		hs = append(hs, remediate.Holder{GPU: uuid(n), Pod: p.Name})
	}
	return hs
}
