package agent

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/gpuhealthd/gpuhealthd/collector/journal"
	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/services"
)

// hear turns kernel records into facts. A line that is not the driver's costs
// nothing but its prefix.
func (a *Agent) hear(ctx context.Context) func(kernlog.Batch) error {
	boot := a.core.boot
	var stuck xidparse.Stuck
	return func(b kernlog.Batch) error {
		m := heard{at: time.Now(), mark: b.Mark}
		first := a.core.witness.records(m.at, b.Records)
		for i := range b.Records {
			r := &b.Records[i]
			m.place = first + uint64(i)
			if r.BootID != boot {
				boot, stuck = r.BootID, xidparse.Stuck{}
				m.add(fault.Observation{Fact: fault.Boot{ID: boot}}, "")
			}
			if r.Lost > 0 {
				stuck = xidparse.Stuck{} // the trace behind the gap may be another's
				m.add(fault.Observation{Sequence: r.Sequence, Backlog: r.Backlog, Fact: fault.Gap{Lost: r.Lost}}, "")
			}
			if r.Userspace && !a.opts.Kernel.AcceptUserspace {
				continue
			}
			if !xidparse.Ours(r.Text) {
				if ev, began, ok := stuck.Line(r.Sequence, r.Text); ok {
					m.add(fault.Observation{Sequence: began, Backlog: r.Backlog, Late: r.Late, Fact: fault.Heard{Event: ev}}, string(r.Text))
				}
				continue
			}
			text := string(r.Text)
			if ev, ok := xidparse.Parse(text); ok {
				m.add(fault.Observation{Sequence: r.Sequence, Backlog: r.Backlog, Late: r.Late, Fact: fault.Heard{Event: ev}}, text)
			}
		}
		for _, e := range services.Latest(serviceEvents(b.Others)) {
			m.add(fault.Observation{Fact: fault.Service{Event: e}}, e.Text)
		}
		a.core.tell(ctx, m)
		return ctx.Err()
	}
}

// serviceEvents reads what the journal has of services.
func serviceEvents(entries []journal.Entry) (events []services.Event) {
	for _, entry := range entries {
		read := services.Line
		if entry.Origin == journal.Manager {
			read = func(unit, text string) (services.Event, bool) { return services.Manager(unit, entry.MessageID, text) }
		}
		if e, ok := read(entry.Unit, string(entry.Text)); ok {
			events = append(events, e)
		}
	}
	return events
}

func (m *heard) add(o fault.Observation, text string) {
	m.facts = append(m.facts, o)
	m.texts = append(m.texts, text)
	m.places = append(m.places, m.place)
}

// line counts and tells one fact of the kernel log.
func (c *core) line(now time.Time, o fault.Observation, text string) {
	switch f := o.Fact.(type) {
	case fault.Gap:
		c.log.Warn("kernel records were lost", "lost", f.Lost, "before", o.Sequence)
		c.poll()
	case fault.Service:
		c.metrics.services.WithLabelValues(f.Event.Unit, f.Event.Kind.String()).Inc()
		if c.lines.allows() {
			c.log.Info("a service of the driver says", "unit", f.Event.Unit, "kind", f.Event.Kind.String(), "text", printable(text))
		}
	case fault.Heard:
		c.metrics.heard(f.Event)
		c.echoes.line(now, f.Event)
		if c.lines.allows() {
			c.log.Info("heard", "sequence", o.Sequence, "kind", f.Event.Kind.String(), "code", f.Event.Code,
				"backlog", o.Backlog, "late", o.Late, "text", printable(text))
		}
	}
}

// printable makes kernel text safe to show on a terminal: neither controls nor
// marks that turn the direction of writing.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
