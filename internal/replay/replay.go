package replay

import (
	"bytes"
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

// Heard is one event of a log and where it stood.
type Heard struct {
	// File is the log's name, and empty when there is one log only.
	File string
	// Line counts from 1.
	Line int
	// Stamp is the line's time as the log wrote it, empty where it did not.
	Stamp string
	Event xidparse.Event
}

// Printer shows what a replay finds, in the order of the input.
type Printer interface {
	// Event comes before the verdicts that it changes.
	Event(Heard) error
	Verdict(fault.Verdict) error
	// End comes once, with what is open at the end of the input.
	End(Outcome) error
}

// Outcome is where a replay ends.
type Outcome struct {
	Open      []fault.Verdict
	Incidents []remediate.Incident
	Messages  int
	Events    int
}

// Replay is one run.
type Replay struct {
	judge *fault.Judge
	plan  *remediate.Plan
	out   Printer
	clock clock
	// ticked is when the judge was last told that time has passed.
	ticked  time.Time
	seq     uint64
	outcome Outcome
}

// ErrUnreadable is a log that could not be read to its end.
var ErrUnreadable = errors.New("unreadable")

// bootName stands for the boot's id, which a log does not have.
const bootName = "replay"

// tickEvery is how often time passes for the judge, by the log's clock. The
// shortest quiet that ends an episode is an hour.
const tickEvery = time.Minute

// Options say what a log does not.
type Options struct {
	// Driver is the version of the driver that wrote the logs, empty when nobody
	// knows.
	Driver string
	// Topology is the node's, nil when nobody knows.
	Topology *nvlink.Topology
}

// New makes a run that shows its finds to out.
func New(out Printer, opts Options) *Replay {
	start := time.Unix(0, 0).UTC()
	r := &Replay{judge: fault.New(fault.Config{Driver: opts.Driver, Topology: opts.Topology}), out: out, clock: clock{now: start}, ticked: start,
		plan: remediate.NewPlan(remediate.Policy{Mode: remediate.Contain})}
	r.judge.Step(start, fault.Observation{Fact: fault.Boot{ID: bootName}})
	return r
}

// Run reads the logs and shows the outcome. progress hears of every message.
func (r *Replay) Run(sources []Source, opts logfile.Options, progress func(*logfile.Reader)) error {
	for _, s := range sources {
		if err := r.file(s, len(sources) > 1, opts, progress); err != nil {
			return err
		}
	}
	r.outcome.Open = r.judge.Open()
	r.outcome.Incidents = r.plan.Incidents()
	return r.out.End(r.outcome)
}

func (r *Replay) file(s Source, named bool, opts logfile.Options, progress func(*logfile.Reader)) error {
	name := s.Name
	if name == "" {
		name = "standard input"
	}
	in, err := logfile.NewReader(s.In, opts)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrUnreadable, err)
	}
	for {
		m, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w: %w", name, ErrUnreadable, err)
		}
		progress(in)
		h := Heard{Line: m.Number}
		if named {
			h.File = s.Name
		}
		if err := r.message(m, h); err != nil {
			return err
		}
	}
}

// message judges one message.
func (r *Replay) message(m logfile.Message, h Heard) error {
	r.seq++
	r.outcome.Messages++
	if !m.Kernel || !xidparse.Ours(m.Text) {
		return nil
	}
	ev, ok := xidparse.Parse(string(m.Text))
	if !ok {
		return nil
	}
	h.Event, h.Stamp = ev, string(bytes.TrimSpace(m.Stamp))
	if err := r.pass(m.Line); err != nil {
		return err
	}
	if ev.Kind != xidparse.KindIdentity {
		r.outcome.Events++
		if err := r.out.Event(h); err != nil {
			return err
		}
	}
	return r.verdicts(r.judge.Step(r.clock.now, fault.Observation{Sequence: r.seq, Fact: fault.Heard{Event: ev}}))
}

// pass lets the log's time pass, which may end what has been quiet for long.
func (r *Replay) pass(line xidparse.Line) error {
	r.clock.pass(line)
	if r.clock.now.Sub(r.ticked) < tickEvery {
		return nil
	}
	r.ticked = r.clock.now
	return r.verdicts(r.judge.Tick(r.clock.now))
}

func (r *Replay) verdicts(vs []fault.Verdict) error {
	for _, v := range vs {
		r.plan.Verdict(r.clock.now, v)
		if err := r.out.Verdict(v); err != nil {
			return err
		}
	}
	return nil
}
