package demo

import (
	"bytes"
	"io"
	"strings"
)

// page is where the play is told: lines that fit the width, and an end of the
// play when nobody can read it any more.
type page struct {
	out   io.Writer
	width int
	// end hears of the first write that failed.
	end  func(error)
	rest []byte // of a line not finished
	err  error
}

func (p *page) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for p.err == nil {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			break
		}
		if _, p.err = io.WriteString(p.out, fold(string(line), p.width)+"\n"); p.err != nil {
			p.end(p.err)
		}
		p.rest = rest
	}
	return len(text), p.err
}

// fold breaks a line between words, or within one that fits on no line. What
// follows is indented a little more than the line is.
func fold(line string, width int) string {
	indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
	var lines []string
	for {
		end := reach(line, width)
		if end == len(line) {
			return strings.Join(append(lines, line), "\n")
		}
		if space := strings.LastIndexByte(line[:end+1], ' '); strings.TrimSpace(line[:max(space, 0)]) != "" {
			end = space
		}
		lines = append(lines, strings.TrimRight(line[:end], " "))
		line = indent + strings.TrimLeft(line[end:], " ")
	}
}

// reach is how many bytes of a line take so many columns; a colour takes none.
func reach(line string, width int) int {
	colour := false
	for at, r := range line {
		switch {
		case r == '\x1b':
			colour = true
		case colour:
			colour = r != 'm'
		case width == 0:
			return at
		default:
			width--
		}
	}
	return len(line)
}
