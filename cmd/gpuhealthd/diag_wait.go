package main

import (
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuhealthd/gpuhealthd/diag"
	"github.com/gpuhealthd/gpuhealthd/diag/dcgmi"
	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// askEvery is how often the daemon is asked how far it is.
const askEvery = time.Second

// awaitDiag waits for the daemon's answer and shows it.
func awaitDiag(cmd *cobra.Command, url, id string) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	show := newDiagProgress(cmd.ErrOrStderr())
	defer show.end()
	for {
		s, _, err := askStatus(ctx, url)
		if ctx.Err() != nil {
			return fmt.Errorf("%s goes on in the daemon: gpuhealthd status shows how far it is, gpuhealthd diag --cancel ends it", id)
		}
		if err != nil {
			return fmt.Errorf("%s was asked for, and the daemon does not answer any more: %w", id, err)
		}
		d := s.Diagnosis
		switch a := d.Asking; {
		case d.Answer != nil && d.Answer.ID == id:
			show.end()
			return showAnswer(cmd.OutOrStdout(), d)
		case a == nil || a.ID != id:
			return fmt.Errorf("the daemon knows nothing of %s any more: its status tells of others since", id)
		case a.Deed == "":
			show.line(waitingText(d.Waits), waitingText(d.Waits))
		default:
			show.line(d.Progress.Waiting, progressText(d.Progress))
		}
		select {
		case <-ctx.Done():
		case <-time.After(askEvery):
		}
	}
}

// showAnswer prints what a diagnosis said, and gives the exit status.
func showAnswer(w io.Writer, d agent.DiagnosisStatus) error {
	if d.Answered != nil {
		if err := writeTable(w, *d.Answered); err != nil {
			return err
		}
	}
	return exits(d.Answer.Check, d.Answer.Text)
}

// writeTable prints a diagnosis for a person; the words in it are DCGM's.
func writeTable(w io.Writer, o diag.Outcome) error {
	for line := range strings.Lines(o.Table()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(replay.Printable(line), " ")); err != nil {
			return err
		}
	}
	return nil
}

// waitingText says what a diagnosis waits for that has not begun.
func waitingText(w *remediate.Waiting) string {
	if w == nil {
		return "begins"
	}
	return replay.Printable(fmt.Sprintf("waits: %s; given up at %s UTC", w.For, w.Until.UTC().Format(time.TimeOnly)))
}

// progressText says how far a diagnosis is.
func progressText(p dcgmi.Progress) string {
	elapsed := ""
	if p.Elapsed >= time.Second {
		elapsed = " for " + lasting(p.Elapsed)
	}
	switch {
	case p.AtMost == 0:
		return "begins"
	case p.Elapsed > p.AtMost:
		return fmt.Sprintf("is being stopped, after %s", lasting(p.AtMost))
	case p.Waiting != "":
		return fmt.Sprintf("waits%s for %s; given up after %s", elapsed, p.Waiting, lasting(p.AtMost))
	}
	return fmt.Sprintf("runs%s, takes up to %s, stopped after %s", elapsed, lasting(p.Expected), lasting(p.AtMost))
}

// diagProgress shows on a terminal how far a diagnosis is, on one line; elsewhere
// each phase of it, and the same one again after a minute: it may be a log.
type diagProgress struct {
	to    io.Writer
	live  bool
	phase string
	said  time.Time
	shown bool
}

// sayEvery is how often the same phase is said again.
const sayEvery = time.Minute

func newDiagProgress(w io.Writer) *diagProgress {
	return &diagProgress{to: w, live: isTerminal(w) && !dumb()}
}

func (d *diagProgress) line(phase, text string) {
	switch now := time.Now(); {
	case d.live:
		fmt.Fprintf(d.to, "\r\x1b[K%s", text)
		d.shown = true
	case d.said.IsZero() || phase != d.phase || now.Sub(d.said) >= sayEvery:
		fmt.Fprintln(d.to, text)
		d.phase, d.said = phase, now
	}
}

func (d *diagProgress) end() {
	if d.shown {
		fmt.Fprintln(d.to)
	}
	d.shown = false
}
