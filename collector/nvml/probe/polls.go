package probe

import (
	"bufio"
	"io"
)

// readPolls turns lines into requests for a poll; those that come faster than
// polls are made count as one. At the end of the input it calls end.
func readPolls(in io.Reader, end func()) <-chan struct{} {
	polls := make(chan struct{}, 1)
	go func() {
		defer end()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case polls <- struct{}{}:
			default:
			}
		}
	}()
	return polls
}
