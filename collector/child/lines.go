package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// readEvents sends an event for each line, to the end of r. A line that is too
// long or no report is an event as well, and costs nothing but itself.
func readEvents[R any](r io.Reader, maxLine int, parse func(line []byte) (R, error), events chan<- Event[R]) {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			events <- Event[R]{Garbled: fmt.Errorf("child's line %.80q…: longer than %d bytes", line, maxLine)}
			if !skipLine(lines) {
				return
			}
		case err != nil:
			if len(line) > 0 { // it ended in the middle of a line
				events <- Event[R]{Garbled: fmt.Errorf("child's line %.80q: cut short", line)}
			}
			return
		default:
			report, err := parse(line)
			events <- Event[R]{Report: report, Garbled: err}
		}
	}
}

// skipLine reads to the end of the line; false at the end of all.
func skipLine(lines *bufio.Reader) bool {
	for {
		_, err := lines.ReadSlice('\n')
		if err == nil {
			return true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return false
		}
	}
}
