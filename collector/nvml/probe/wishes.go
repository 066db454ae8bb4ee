package probe

import (
	"bufio"
	"io"
	"sync"
)

// wishes are what the parent wants now. It asks a line at a time: "poll" for a
// full poll at once, "close" to let go of the GPUs, "open" to go on. Words that
// are not known are skipped: they are a newer parent's.
type wishes struct {
	mu           sync.Mutex
	poll, closed bool
	changed      chan struct{} // holds one: there may be something new
}

// readWishes reads lines in the background; at the end of the input it calls end.
func readWishes(in io.Reader, end func()) *wishes {
	w := &wishes{changed: make(chan struct{}, 1)}
	go func() {
		defer end()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			w.hear(lines.Text())
		}
	}()
	return w
}

func (w *wishes) hear(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch word {
	case "poll":
		w.poll = true
	case "close":
		w.closed = true
	case "open":
		w.closed = false
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// take says whether a poll was asked for since the last time, and whether the
// library is to be closed. Polls that are asked for faster than made are one.
func (w *wishes) take() (poll, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	poll, w.poll = w.poll, false
	return poll, w.closed
}
