package nvml

import (
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/child"
)

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
	sigCont = syscall.SIGCONT
)

// maxLine is the longest line that the child may write, in bytes: several times
// an inventory of sixteen GPUs.
const maxLine = 512 << 10

// event is one thing that happens to the child.
type event = child.Event[Report]

// process is a running probe, seen by the one goroutine that watches it.
type process struct {
	*child.Child[Report]

	word     Report    // the last it said
	heard    time.Time // when: at first, when it was started
	asked    bool      // for a poll, and no inventory since
	stopping bool
	// stopped says whether it runs at all (SIGSTOP).
	stopped func() bool
}

func startProcess(cfg Config) (*process, error) {
	c, err := child.Start(child.Spec[Report]{
		Command: cfg.command(), Env: cfg.Env, Lock: cfg.Lock, MaxLine: maxLine, Parse: parseReport,
	})
	if err != nil {
		return nil, err
	}
	return &process{Child: c, heard: time.Now(), stopped: func() bool { return child.Stopped(c.PID) }}, nil
}

func (c *process) hear(r Report) {
	c.word, c.heard = r, time.Now()
	if r.Kind == KindInventory {
		c.asked = false
	}
}

// poll asks for a poll. One request at a time: a child that does not read could
// fill the pipe and block us. That writing fails is no news, the child's end
// will be.
func (c *process) poll() {
	if !c.asked && !c.stopping {
		c.asked = true
		_, _ = io.WriteString(c.Stdin, "poll\n")
	}
}

func (c *process) stop() {
	c.stopping = true
	_ = c.Stdin.Close()
}

// gone waits for the child's end for so long, keeping its last word.
func (c *process) gone(patience time.Duration) bool {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		select {
		case e := <-c.Events:
			if e.Died != nil {
				return true
			}
			if e.Garbled == nil {
				c.hear(e.Report)
			}
		case <-over.C:
			return false
		}
	}
}

// excused says whether the child's end is no news: it was told to, or said why
// it would.
func (c *process) excused() bool { return c.stopping || c.word.Kind == KindFailed }

// mayBeInCall is true unless the child said, within patience, that it is not: one
// that never said a word may be in the first call.
func (c *process) mayBeInCall(patience time.Duration) bool {
	return c.word.Kind == "" || c.word.inCall() || time.Since(c.heard) > patience
}

// silent reports a child that says nothing. One that was stopped tells nothing
// of the driver.
func (c *process) silent() Report {
	if c.stopped() {
		return FailedReport(Error{Op: "hear the child", Text: fmt.Sprintf("process %d is stopped, until it gets SIGCONT", c.PID)})
	}
	return HungReport(Hung{Call: NoAnswer, Seconds: time.Since(c.heard).Seconds(), Child: fmt.Sprintf("process %d does not answer", c.PID)})
}

func (c *process) lastWord() string {
	switch c.word.Kind {
	case "":
		return "none"
	case KindHung:
		return fmt.Sprintf("%s hung for %.0f s", c.word.Hung.Call, c.word.Hung.Seconds)
	}
	return fmt.Sprintf("%s, %.0f s ago", c.word.Kind, time.Since(c.heard).Seconds())
}
