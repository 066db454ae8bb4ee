package logfile

import (
	"bufio"
	"bytes"
	"errors"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// lines reads physical lines, of bounded length, and can give one again.
type lines struct {
	in *bufio.Reader
	// number is that of the line given last, from 1.
	number int
	// overlong counts the lines that were cut.
	overlong int
	// line is the line given last; again says to give it once more.
	line  []byte
	again bool
	// long holds a line that did not fit the buffer of in.
	long []byte
}

// next gives a line without its newline, valid until the call after. The last
// line may lack a newline.
func (l *lines) next() ([]byte, error) {
	if l.again {
		l.again = false
		return l.line, nil
	}
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.overlong++
		l.long = append(l.long[:0], line...)
		line = l.long
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.in.ReadSlice('\n')
		}
	}
	if err != nil && len(line) == 0 {
		return nil, err
	}
	l.number++
	if n := len(line); line[n-1] == '\n' {
		line = line[:n-1]
	}
	// An error behind a partial line comes again with the next call.
	l.line = line
	return line, nil
}

// unread makes next give the same line again. Nothing may be read in between.
func (l *lines) unread() { l.again = true }

// plainLine is a line without its carriage return and terminal colours.
func plainLine(line []byte) []byte { return xidparse.Plain(bytes.TrimSuffix(line, []byte("\r"))) }
