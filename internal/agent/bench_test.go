package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// BenchmarkRest is a node at rest for a second: the tick, and a fifth of a poll
// of eight GPUs every five seconds. The bar of 0.3 % of a core is 3 ms.
func BenchmarkRest(b *testing.B) {
	s := newStage(b)
	s.make()
	defer s.core.memory.end()
	now := time.Now()
	for n := 0; b.Loop(); n++ {
		now = now.Add(tickEvery)
		if n%5 == 0 {
			s.core.take(now, asked{report: inventoryOf()})
		}
		s.core.tick(now)
	}
}

// BenchmarkRestWithHistory is the same after a bad year: as many ended incidents
// as are kept, and one that is open.
func BenchmarkRestWithHistory(b *testing.B) {
	s := newStage(b)
	s.make()
	defer s.core.memory.end()
	now := time.Now()
	s.core.take(now, asked{report: inventoryOf()})
	for n := range 70 {
		s.core.take(now, s.batch(n, xid(2, uncontained), xid(2, resetAsked)))
		now = now.Add(time.Minute)
		s.core.take(now, s.batch(n, xid(2, nothingMore)))
		for range 8 {
			now = now.Add(period)
			s.core.take(now, asked{report: inventoryOf()})
		}
		now = now.Add(2 * probation)
		s.core.tick(now)
	}
	s.core.take(now, s.batch(99, xid(3, uncontained), xid(3, resetAsked)))
	if got := s.Status(); len(got.History) != 64 || len(got.Incidents) != 1 {
		b.Fatalf("%d ended, %d open", len(got.History), len(got.Incidents))
	}
	for n := 0; b.Loop(); n++ {
		now = now.Add(tickEvery)
		if n%5 == 0 {
			s.core.take(now, asked{report: inventoryOf(wants(3, 1))})
		}
		s.core.tick(now)
	}
}

// batch makes a message of kernel lines, with sequences of its own.
func (s *stage) batch(n int, texts ...string) heard {
	var m heard
	for i, text := range texts {
		ev, ok := xidparse.Parse(text)
		if !ok {
			s.t.Fatalf("not the driver's: %q", text)
		}
		m.mark.Kmsg = kernlog.Position{BootID: s.core.boot, Sequence: uint64(100*n + i)}
		m.add(fault.Observation{Sequence: m.mark.Kmsg.Sequence, Fact: fault.Heard{Event: ev}}, text)
	}
	return m
}

// BenchmarkLine is a kernel line of a flood, in batches as they pile up.
func BenchmarkLine(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batches of %d", size), func(b *testing.B) {
			s := newStage(b)
			s.make()
			defer s.core.memory.end()
			now := time.Now()
			s.core.take(now, asked{report: inventoryOf()})
			m := s.batch(0, xid(2, uncontained))
			for len(m.facts) < size {
				m.add(m.facts[0], m.texts[0])
			}
			b.ReportAllocs()
			for b.Loop() {
				s.core.take(now, m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/line")
		})
	}
}

// BenchmarkForeign is a kernel line of another program, heard in batches of 100,
// with evidence and without: what the ring costs.
func BenchmarkForeign(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("evidence %t", kept), func(b *testing.B) {
			s := newStage(b)
			if !kept {
				s.archive = nil
			}
			s.make()
			defer s.core.memory.end()
			go func() {
				for range s.core.inbox {
				}
			}()
			batch := kernlog.Batch{Records: make([]kernlog.Record, 100)}
			for i := range batch.Records {
				batch.Records[i] = kernlog.Record{Position: kernlog.Position{BootID: s.core.boot, Sequence: uint64(i)},
					Text: []byte(`audit: type=1400 audit(1700000000.123:456): apparmor="STATUS" operation="profile_replace" pid=1`)}
			}
			hear := s.Agent.hear(b.Context())
			b.ReportAllocs()
			for b.Loop() {
				if err := hear(batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Records)), "ns/line")
		})
	}
}
