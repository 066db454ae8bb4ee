package agent

import (
	"context"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/kernlog"
	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// hear turns kernel records into facts. A line that is not the driver's costs
// nothing but its prefix.
func (a *Agent) hear(ctx context.Context) func([]kernlog.Record) error {
	boot := a.core.boot
	return func(records []kernlog.Record) error {
		m := heard{at: time.Now()}
		for i := range records {
			r := &records[i]
			if r.BootID != boot {
				boot = r.BootID
				m.add(fault.Observation{Fact: fault.Boot{ID: boot}}, "")
			}
			if r.Lost > 0 {
				m.add(fault.Observation{Sequence: r.Sequence, Backlog: r.Backlog, Fact: fault.Gap{Lost: r.Lost}}, "")
			}
			if r.Userspace && !a.opts.Kernel.AcceptUserspace || !xidparse.Ours(r.Text) {
				continue
			}
			text := string(r.Text)
			if ev, ok := xidparse.Parse(text); ok {
				m.add(fault.Observation{Sequence: r.Sequence, Backlog: r.Backlog, Fact: fault.Heard{Event: ev}}, text)
			}
		}
		if n := len(records); n > 0 {
			m.position = records[n-1].Position
			a.core.tell(ctx, m)
		}
		return ctx.Err()
	}
}

func (m *heard) add(o fault.Observation, text string) {
	m.facts = append(m.facts, o)
	m.texts = append(m.texts, text)
}

// line counts and tells one fact of the kernel log.
func (c *core) line(o fault.Observation, text string) {
	switch f := o.Fact.(type) {
	case fault.Gap:
		c.log.Warn("kernel records were lost", "lost", f.Lost, "before", o.Sequence)
		c.poll()
	case fault.Heard:
		c.metrics.heard(f.Event)
		if c.lines.allows() {
			c.log.Info("heard", "sequence", o.Sequence, "kind", f.Event.Kind.String(), "code", f.Event.Code,
				"backlog", o.Backlog, "text", printable(text))
		}
	}
}

// printable makes kernel text safe to show on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u009b' {
			return ' '
		}
		return r
	}, s)
}
