package kernlog

import (
	"hash/maphash"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// side names the two sources of one log.
type side int

const (
	kmsgSide side = iota
	journalSide
)

// once tells whether a record that comes from one source has come from the
// other. It remembers what one had and the other has not had yet: of two
// records that are alike to the microsecond and the byte, each is matched once.
type once struct {
	seed    maphash.Seed
	waiting [2]shelf
}

func newOnce() *once { return &once{seed: maphash.MakeSeed()} }

// fresh is true for a record that the other source has not delivered. It may
// come from there yet.
func (o *once) fresh(from side, micros uint64, text []byte) bool {
	if o.had(from, micros, text) {
		return false
	}
	o.waiting[from].put(o.mark(micros, text))
	return true
}

// had is true for a record that the other source has delivered.
func (o *once) had(from side, micros uint64, text []byte) bool {
	return o.waiting[1-from].take(o.mark(micros, text))
}

// mark tells a record from others. The journal's texts come without the blanks
// around them.
func (o *once) mark(micros uint64, text []byte) mark {
	return mark{micros, maphash.Bytes(o.seed, xidparse.JournalLine(text, "kernel", "").Text)}
}

// inside forgets, and counts, records between two clocks that the journal alone
// has delivered; not more than most.
func (o *once) inside(after, before, most uint64) (n uint64) {
	return o.waiting[journalSide].takeInside(after, before, most)
}

// shelfSize bounds a shelf: how far one source may fall behind the other, or how
// much of what was read a gap may reach back, in records. It is a second and a
// half of the fastest flood measured.
const shelfSize = 32 << 10

// mark is what is kept of a record.
type mark struct{ micros, text uint64 }

// shelf is a bounded multiset. What has lain for shelfSize to twice that many
// others is forgotten.
type shelf struct{ young, old map[mark]uint32 }

func (s *shelf) put(k mark) {
	if s.young == nil {
		s.young, s.old = map[mark]uint32{}, map[mark]uint32{}
	}
	if len(s.young) == shelfSize {
		s.young, s.old = s.old, s.young
		clear(s.young)
	}
	s.young[k]++
}

func (s *shelf) take(k mark) bool {
	for _, m := range []map[mark]uint32{s.young, s.old} {
		switch n := m[k]; n {
		case 0:
			continue
		case 1:
			delete(m, k)
		default:
			m[k] = n - 1
		}
		return true
	}
	return false
}

func (s *shelf) takeInside(after, before, most uint64) (n uint64) {
	for _, m := range []map[mark]uint32{s.old, s.young} {
		for k := range m {
			for n < most && k.micros > after && k.micros < before && m[k] > 0 {
				s.take(k)
				n++
			}
		}
	}
	return n
}
