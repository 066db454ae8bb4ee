package journal

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

// Config is how the child is started and what it reads.
type Config struct {
	// Paths are directories of journals, by preference.
	Paths []string
	// Kernel follows the kernel's records; without it they are only filled in.
	Kernel bool
	// Units are followed as well, by their full names.
	Units []string
	// Kata follows the consoles of Kata guests.
	Kata bool
	// Command is the child's argument vector; empty is this executable with
	// "probe journal" and the flags for the above.
	Command []string
	// Env is added to the child's environment.
	Env []string
}

func (cfg Config) command() []string {
	if len(cfg.Command) > 0 {
		return cfg.Command
	}
	command := []string{"", "probe", "journal", fmt.Sprintf("--kernel=%t", cfg.Kernel), fmt.Sprintf("--kata=%t", cfg.Kata)}
	for _, path := range cfg.Paths {
		command = append(command, "--path", path)
	}
	for _, unit := range cfg.Units {
		command = append(command, "--unit", unit)
	}
	return command
}

// Probe is the parent's side: it keeps one child running and hears it.
type Probe struct {
	start func() (*child.Child[Report], error)
	fills chan Span
}

// New makes a Probe; Run starts it.
func New(cfg Config) *Probe {
	spec := child.Spec[Report]{Command: cfg.command(), Env: cfg.Env, MaxLine: MaxLine, Parse: parseReport}
	return &Probe{
		start: func() (*child.Child[Report], error) { return child.Start(spec) },
		fills: make(chan Span, 16),
	}
}

// Fill asks what the kernel said in a span, without waiting: reports of
// KindFilled will come, the last one Done. False says that too much has been
// asked already, and that none will.
func (p *Probe) Fill(s Span) bool {
	select {
	case p.fills <- s:
		return true
	default:
		return false
	}
}

// Run keeps a child running and hands each report to out, one at a time, until
// ctx is done; then it ends the child. A child that dies is told as KindFailed,
// and what it had been asked as Done. The next one goes on behind what out has
// handled.
func (p *Probe) Run(ctx context.Context, from Place, out func(Report)) error {
	return child.Keep(ctx, new(child.Gate), func(ctx context.Context) error {
		c, err := p.start()
		if err != nil {
			out(Report{Kind: KindFailed, Error: err.Error()})
			return nil
		}
		w := &watched{Child: c, place: from, out: out}
		why := w.watch(ctx, p.fills)
		from = w.place
		w.end()
		if ctx.Err() == nil {
			out(Report{Kind: KindFailed, Error: why})
		}
		for _, span := range w.asked {
			out(Report{Kind: KindFilled, Span: &span, Done: true, Error: why})
		}
		return nil
	})
}

// watched is a running child.
type watched struct {
	*child.Child[Report]

	out   func(Report)
	place Place
	asked []Span
	over  bool
}

// silence is how long a child may say nothing.
const silence = 3 * AliveEvery

// watch hears a child until it is of no more use, and says why.
func (w *watched) watch(ctx context.Context, fills <-chan Span) string {
	w.ask(Request{Follow: &w.place})
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case e := <-w.Events:
			switch {
			case e.Died != nil:
				w.over = true
				return died(*e.Died)
			case e.Garbled != nil:
				return e.Garbled.Error()
			}
			quiet.Reset(silence)
			w.hear(e.Report)
		case s := <-fills:
			w.asked = append(w.asked, s)
			w.ask(Request{Fill: &s})
		case <-quiet.C:
			return fmt.Sprintf("the journal's child has said nothing for %s", silence)
		case <-ctx.Done():
			return "stopped"
		}
	}
}

// hear hands a report on, and then takes it for handled.
func (w *watched) hear(r Report) {
	w.out(r)
	switch {
	case r.Kind == KindEntries:
		if r.Cursor != "" {
			w.place.Cursor = r.Cursor
		}
		for _, e := range r.Entries {
			if e.Origin == Kernel {
				w.place.After = max(w.place.After, e.Micros)
			}
		}
	case r.Kind == KindFilled && r.Done && len(w.asked) > 0:
		w.asked = w.asked[1:]
	}
}

// ask writes a request. That it fails is no news, the child's end will be. It
// cannot block for long: the child reads whenever it can.
func (w *watched) ask(r Request) {
	if line, err := r.Line(); err == nil {
		_, _ = w.Stdin.Write(line)
	}
}

// end ends a child: end of input, SIGTERM, SIGKILL. There is no driver inside
// that could mind.
func (w *watched) end() {
	_ = w.Stdin.Close()
	for _, s := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if w.over {
			return
		}
		_ = w.Signal(s)
		w.gone(time.Second)
	}
}

// gone passes over what a child still says, to its end or for so long.
func (w *watched) gone(patience time.Duration) {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		select {
		case e := <-w.Events:
			if w.over = e.Died != nil; w.over {
				return
			}
		case <-over.C:
			return
		}
	}
}

// died says how a child ended.
func died(d child.Died) string {
	switch {
	case d.Symbol != "":
		return "the journal's library lacks " + d.Symbol
	case d.Signal != "":
		return "the journal's child was ended by " + d.Signal
	}
	return fmt.Sprintf("the journal's child ended with status %d: %s", d.Exit, d.Stderr)
}
