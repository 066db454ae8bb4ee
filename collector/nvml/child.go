package nvml

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

// child is a running probe process, seen by the one goroutine that watches it.
type child struct {
	pid    int
	events <-chan event
	stdin  io.WriteCloser
	signal func(os.Signal) error

	word     Report    // the last it said
	heard    time.Time // when: at first, when it was started
	asked    bool      // for a poll, and no inventory since
	stopping bool
}

// event is one thing that happens to a child. Exactly one part is set.
type event struct {
	report  Report
	garbled error // a line that is no report
	died    *Died // its end: nothing follows
}

func (c *child) hear(r Report) {
	c.word, c.heard = r, time.Now()
	if r.Kind == KindInventory {
		c.asked = false
	}
}

// poll asks for a poll. One request at a time: a child that does not read could
// fill the pipe and block us. That writing fails is no news, the child's end
// will be.
func (c *child) poll() {
	if !c.asked && !c.stopping {
		c.asked = true
		_, _ = io.WriteString(c.stdin, "poll\n")
	}
}

func (c *child) stop() {
	c.stopping = true
	c.stdin.Close()
}

// gone waits for the child's end for so long, keeping its last word.
func (c *child) gone(patience time.Duration) bool {
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		select {
		case e := <-c.events:
			if e.died != nil {
				return true
			}
			if e.garbled == nil {
				c.hear(e.report)
			}
		case <-over.C:
			return false
		}
	}
}

// excused says whether the child's end is no news: it was told to, or said why
// it would.
func (c *child) excused() bool { return c.stopping || c.word.Kind == KindFailed }

// mayBeInCall is true unless the child said, within patience, that it is not: one
// that never said a word may be in the first call.
func (c *child) mayBeInCall(patience time.Duration) bool {
	return c.word.Kind == "" || c.word.inCall() || time.Since(c.heard) > patience
}

func (c *child) lastWord() string {
	switch c.word.Kind {
	case "":
		return "none"
	case KindHung:
		return fmt.Sprintf("%s hung for %.0f s", c.word.Hung.Call, c.word.Hung.Seconds)
	}
	return fmt.Sprintf("%s, %.0f s ago", c.word.Kind, time.Since(c.heard).Seconds())
}
