package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

// Source is one log. Name is empty for standard input.
type Source struct {
	Name string
	In   io.Reader
}

// Options say what a log does not.
type Options struct {
	// Driver is the version of the driver that wrote the logs, empty when nobody
	// knows.
	Driver string
	// Topology is the node's, nil when nobody knows.
	Topology *nvlink.Topology
	// Read says how the logs are read.
	Read logfile.Options
	// Progress hears of every message; nil for nobody.
	Progress func(*logfile.Reader)
}

// Replay is one run.
type Replay struct {
	opts  Options
	judge *fault.Judge
	plan  *remediate.Plan
	out   Printer
	clock clock
	stuck xidparse.Stuck
	// ticked is when the judge was last told that time has passed.
	ticked time.Time
	seq    uint64
	// boots counts the boots after the first, bootEvents the events up to the
	// last of them.
	boots, bootEvents int
	outcome           Outcome
}

// ErrUnreadable is a log that could not be read to its end.
var ErrUnreadable = errors.New("unreadable")

// tickEvery is how often time passes for the judge, by the log's clock. The
// shortest quiet that ends an episode is an hour.
const tickEvery = time.Minute

// New makes a run that shows its finds to out.
func New(out Printer, opts Options) *Replay {
	start := time.Unix(0, 0).UTC()
	r := &Replay{opts: opts, out: out, clock: clock{now: start}, ticked: start,
		judge: fault.New(fault.Config{Driver: opts.Driver, Topology: opts.Topology, BootCures: true}),
		plan:  remediate.NewPlan(remediate.Policy{Mode: remediate.Contain})}
	r.judge.Step(start, fault.Observation{Fact: fault.Boot{ID: bootName}})
	return r
}

// Run reads the logs and shows the outcome. An error wraps ErrUnreadable where
// a log is to blame, and else is the printer's. What was read before such a log
// was damaged is shown.
func (r *Replay) Run(sources []Source) error {
	var failed error
	for _, s := range sources {
		if failed = r.file(s, len(sources) > 1); failed != nil {
			break
		}
	}
	if failed != nil && (!errors.Is(failed, ErrUnreadable) || r.outcome.Messages == 0) {
		return failed
	}
	r.outcome.Open = r.judge.Open()
	r.outcome.Incidents = r.plan.Incidents()
	r.outcome.Topology = r.opts.Topology
	if err := r.out.End(r.outcome); err != nil {
		return err
	}
	return failed
}

func (r *Replay) file(s Source, named bool) error {
	name := s.Name
	if name == "" {
		name = "standard input"
	}
	r.stuck = xidparse.Stuck{}
	in, err := logfile.NewReader(s.In, r.opts.Read)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrUnreadable, err)
	}
	defer func() { r.outcome.Overlong += in.Overlong() }()
	for {
		m, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %w", name, ErrUnreadable, err)
		}
		if r.opts.Progress != nil {
			r.opts.Progress(in)
		}
		f := Finding{Line: m.Number}
		if named {
			f.File = s.Name
		}
		if err := r.message(m, f); err != nil {
			return err
		}
	}
}

// message judges one message.
func (r *Replay) message(m logfile.Message, f Finding) error {
	r.seq++
	r.outcome.Messages++
	ours := xidparse.Ours(m.Text)
	if ours || m.Tagged || len(m.Stamp) > 0 {
		r.outcome.Known++
	}
	if m.Dropped > 0 { // and a message behind it
		if err := r.gap(m, f); err != nil {
			return err
		}
	}
	if !ours {
		return r.other(m, f)
	}
	ev, ok := xidparse.Parse(string(m.Text))
	if !ok {
		return nil
	}
	f.Time = m.Time()
	if !m.Kernel {
		r.outcome.Ignored++
		f.Ignored, f.Text = userSpace(m.Line), string(m.Text)
		return r.out.Finding(f)
	}
	return r.event(f, ev)
}

// other reads a message that is not the driver's.
func (r *Replay) other(m logfile.Message, f Finding) error {
	if boots(m) {
		return r.booted(m, f)
	}
	if m.Kernel {
		if ev, began, ok := r.stuck.Line(uint64(m.Number), m.Text); ok {
			f.Line, f.Time = int(began), m.Time()
			return r.event(f, ev)
		}
	}
	if m.Dropped > 0 {
		return nil // told already
	}
	return r.gap(m, f)
}

// event judges an event.
func (r *Replay) event(f Finding, ev xidparse.Event) error {
	if err := r.pass(f); err != nil {
		return err
	}
	changes := r.changes(r.judge.Step(r.clock.now, fault.Observation{Sequence: r.seq, Fact: fault.Heard{Event: ev}}))
	if ev.Kind == xidparse.KindIdentity {
		return nil
	}
	r.outcome.Events++
	f.Event, f.Changes = ev, changes
	return r.out.Finding(f)
}

// userSpace says why a message that could be the driver's is not believed.
func userSpace(line xidparse.Line) string {
	if line.Facility > 0 {
		return fmt.Sprintf("user space wrote it (facility %d), and can write anything", line.Facility)
	}
	return "user space wrote it, and can write anything"
}

// gap tells of messages that the log itself says are missing.
func (r *Replay) gap(m logfile.Message, f Finding) error {
	missing, ok := m.Gap()
	if !ok {
		return nil
	}
	if r.outcome.Missing += missing; missing == 0 {
		r.outcome.Uncounted++
	}
	f.Gap, f.Time, f.Missing, f.Text = true, m.Time(), missing, string(m.Text)
	f.Changes = r.changes(r.judge.Step(r.clock.now, fault.Observation{Sequence: r.seq, Fact: fault.Gap{Lost: missing}}))
	return r.out.Finding(f)
}

// pass lets the log's time pass, which may end what has been quiet for long.
func (r *Replay) pass(f Finding) error {
	r.clock.pass(f.Time)
	if r.clock.now.Sub(r.ticked) < tickEvery {
		return nil
	}
	r.ticked = r.clock.now
	if f.Changes = r.changes(r.judge.Tick(r.clock.now)); len(f.Changes) == 0 {
		return nil
	}
	return r.out.Finding(f)
}

// changes hands verdicts to the plan, and gives them with what that makes of
// them.
func (r *Replay) changes(vs []fault.Verdict) []Change {
	for _, v := range vs {
		r.plan.Verdict(r.clock.now, v)
	}
	if len(vs) == 0 {
		return nil
	}
	incidents := r.plan.Incidents()
	changes := make([]Change, len(vs))
	for i, v := range vs {
		changes[i] = Change{Verdict: v, Steps: stepsFor(incidents, v.ID)}
	}
	return changes
}

func stepsFor(incidents []remediate.Incident, id string) []remediate.Step {
	for _, i := range incidents {
		if i.Verdict.ID == id {
			return i.Steps
		}
	}
	return nil
}
