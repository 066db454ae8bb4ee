package probe

import (
	"bufio"
	"io"
)

// readWishes hears the parent, which asks a line at a time: "poll" is for a poll
// of everything at once. Polls that are asked for faster than made are one. Words
// that are not known are skipped: they are a newer parent's. At the end of the
// input it calls end.
func readWishes(in io.Reader, end func()) <-chan struct{} {
	polls := make(chan struct{}, 1)
	go func() {
		defer end()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if lines.Text() != "poll" {
				continue
			}
			select {
			case polls <- struct{}{}:
			default:
			}
		}
	}()
	return polls
}
