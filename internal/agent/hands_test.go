package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// The hands do the deeds of mode repair on a machine, each effect of which is a
// point to crash at, before and after.

// diedOver is what the plan says of a deed that an agent has died over.
const diedOver = "the agent died meanwhile"

// hand is what all of them have.
type hand struct {
	m *machine
	c *crasher
}

// Occupancy looks at who holds the GPUs.
func (h hand) Occupancy(context.Context) remediate.Occupancy { return h.m.occupancy() }

// frozen is where a deed ends whose agent is dead.
func frozen(ctx context.Context) remediate.Outcome {
	<-ctx.Done()
	return remediate.Outcome{Result: remediate.Aborted}
}

// lapsed says whether nobody shall know how a deed ended.
func (h hand) lapsed(deed remediate.Deed) (l lapse, ok bool) {
	n := slices.IndexFunc(h.m.lapses, func(l lapse) bool { return l.Deed == deed.ID })
	if n < 0 {
		return lapse{}, false
	}
	return h.m.lapses[n], true
}

// drainer takes pods out of rotation, evicts them, and waits until they have left.
type drainer struct{ hand }

func (d drainer) Do(ctx context.Context, deed remediate.Deed, owe remediate.Owe) remediate.Outcome {
	for {
		left, stay := d.left(deed)
		if len(left) == 0 {
			return remediate.Outcome{Result: remediate.Succeeded}
		}
		for _, word := range d.m.rotation(deed) {
			if owe(ctx, word) == nil && !d.c.does(func() { d.m.takeOut(deed, word) }) {
				return frozen(ctx)
			}
		}
		if stay && !d.c.does(func() { d.m.evict(deed) }) {
			return frozen(ctx)
		}
		select {
		case <-ctx.Done():
			o := remediate.Outcome{Result: remediate.Unsuccessful, Holders: left, Owed: d.m.taken()}
			if errors.Is(ctx.Err(), context.Canceled) {
				o.Result = remediate.Aborted
			}
			return o
		case <-time.After(time.Second):
		}
	}
}

// Undo brings back into rotation who is still there.
func (d drainer) Undo(ctx context.Context, deed remediate.Deed) error {
	if !d.c.does(func() { d.m.rotate(deed.Undo, false) }) {
		return blocks(ctx)
	}
	return nil
}

// rotation are the pods of a deed that are in rotation, by the words to put them back;
// taken are all that are not.
func (m *machine) rotation(deed remediate.Deed) (words []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.Cards {
		if c := m.on(deed)[n]; c != nil {
			for _, p := range c.pods(time.Now()) {
				if !p.Out {
					words = append(words, wordPod(n, p))
				}
			}
		}
	}
	return words
}

func (m *machine) taken() (words []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.Cards {
		for _, p := range m.Cards[n].pods(time.Now()) {
			if p.Out {
				words = append(words, wordPod(n, p))
			}
		}
	}
	return words
}

func wordPod(gpu int, p pod) string { return uuid(gpu) + " " + p.Name }

func (m *machine) takeOut(deed remediate.Deed, word string) {
	m.mu.Lock()
	m.may("out of rotation", deed, word)
	m.mu.Unlock()
	m.rotate([]string{word}, true)
}

// rotate takes pods out of rotation, or brings them back.
func (m *machine) rotate(words []string, out bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.Cards {
		for i := range m.Cards[n].Pods {
			if p := &m.Cards[n].Pods[i]; slices.Contains(words, wordPod(n, *p)) {
				p.Out = out
			}
		}
	}
}

// left gives who is still there, and whether any of them can be evicted and has
// not been.
func (d drainer) left(deed remediate.Deed) (left []remediate.Holder, stay bool) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	for n := range d.m.Cards {
		if c := d.m.on(deed)[n]; c != nil {
			left = append(left, d.m.holders(n)...)
			stay = stay || slices.ContainsFunc(c.Pods, func(p pod) bool { return p.Leaves.IsZero() && (deed.Force || !p.Stays) })
		}
	}
	return left, stay
}

// evict has the pods of a deed leave, and checks that it may.
func (m *machine) evict(deed remediate.Deed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.may("evict", deed, "")
	for n, c := range m.on(deed) {
		if c.Cure == "" && !c.Lost && !deed.Whole {
			m.wrong("the pods of healthy GPU %d are evicted", n)
		}
		for i := range c.Pods {
			if p := &c.Pods[i]; p.Leaves.IsZero() && (deed.Force || !p.Stays) {
				p.Leaves = time.Now().Add(p.Takes)
			}
		}
	}
}

// resetter resets GPUs by its own hand.
type resetter struct {
	hand
	// fails: the tool says that the reset failed. sticky: what it has changed can
	// only be put back later.
	fails, sticky bool
}

// The words of what is to be put back.
const (
	wordServices    = "services"
	wordPersistence = "persistence "
)

func (r resetter) Do(ctx context.Context, deed remediate.Deed, owe remediate.Owe) remediate.Outcome {
	lapse, lapsed := r.lapsed(deed)
	if lapsed && !lapse.Done {
		return remediate.Outcome{Result: remediate.Undecided, Text: diedOver}
	}
	o, alive := r.try(ctx, deed, owe)
	if !alive {
		return frozen(ctx)
	}
	if lapsed {
		o.Result, o.Text = remediate.Undecided, diedOver
	}
	if r.sticky {
		o.Owed = r.m.changed(deed)
		return o
	}
	if !r.putBack(r.m.changed(deed)) {
		return frozen(ctx)
	}
	return o
}

func (r resetter) try(ctx context.Context, deed remediate.Deed, owe remediate.Owe) (o remediate.Outcome, alive bool) {
	for _, word := range r.m.changes(deed) {
		if r.c.point() {
			return o, false
		}
		if err := owe(ctx, word); err != nil {
			return remediate.Outcome{Result: remediate.Aborted, Text: err.Error()}, true
		}
		if r.c.point() || !r.c.does(func() { r.m.change(deed, word) }) {
			return o, false
		}
	}
	if held := r.m.services(deed); len(held) > 0 {
		return remediate.Outcome{Result: remediate.Refused, Holders: held}, true
	}
	if !r.c.does(func() { r.m.reset(deed) }) {
		return o, false
	}
	if r.fails {
		return remediate.Outcome{Result: remediate.Unsuccessful, Text: "exit status 3"}, true
	}
	return remediate.Outcome{Result: remediate.Succeeded}, true
}

func (r resetter) putBack(words []string) bool {
	for _, word := range slices.Backward(words) {
		if !r.c.does(func() { r.m.putBack(word) }) {
			return false
		}
	}
	return true
}

func (r resetter) Undo(ctx context.Context, deed remediate.Deed) error {
	if !r.putBack(deed.Undo) {
		return blocks(ctx)
	}
	return nil
}

// changes are what has to be changed for a reset, changed what has been.
func (m *machine) changes(deed remediate.Deed) []string { return m.words(deed, false) }
func (m *machine) changed(deed remediate.Deed) []string { return m.words(deed, true) }

func (m *machine) words(deed remediate.Deed, changed bool) (words []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Paused == changed {
		words = append(words, wordServices)
	}
	for n := range m.Cards {
		if c := m.on(deed)[n]; c != nil && c.Persistence != changed {
			words = append(words, wordPersistence+uuid(n))
		}
	}
	return words
}

func (m *machine) change(deed remediate.Deed, word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.may("change of "+word, deed, word)
	m.set(word, true)
}

func (m *machine) putBack(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(word, false)
}

func (m *machine) set(word string, changed bool) {
	id, persistence := strings.CutPrefix(word, wordPersistence)
	if !persistence {
		m.Paused = changed
	}
	for n := range m.Cards {
		if persistence && uuid(n) == id {
			m.Cards[n].Persistence = !changed
		}
	}
}

// services are the host's own that hold the GPUs of a reset, which is refused then.
func (m *machine) services(deed remediate.Deed) (hs []remediate.Holder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.Cards {
		if c := m.on(deed)[n]; c != nil && c.Service {
			hs = append(hs, remediate.Holder{GPU: uuid(n), PID: 99, Process: "monitor"})
			c.Service = !c.Yields
		}
	}
	return hs
}

// rebooter reboots the host.
type rebooter struct{ hand }

func (r rebooter) Do(ctx context.Context, deed remediate.Deed, _ remediate.Owe) remediate.Outcome {
	if _, lapsed := r.lapsed(deed); lapsed {
		return remediate.Outcome{Result: remediate.Undecided, Text: diedOver}
	}
	if !r.c.does(func() { r.m.goDown(deed) }) {
		return frozen(ctx)
	}
	<-ctx.Done()
	return remediate.Outcome{Result: remediate.Undecided}
}

func (rebooter) Undo(context.Context, remediate.Deed) error { return nil }
