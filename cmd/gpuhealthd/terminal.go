package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/gpuhealthd/gpuhealthd/internal/replay"
	"github.com/gpuhealthd/gpuhealthd/xidparse/logfile"
)

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// styleFor is how text is shown on w: in colours on a terminal that has them,
// unless the user wants none (https://no-color.org).
func styleFor(w any) replay.Style {
	return replay.Style{Colour: isTerminal(w) && os.Getenv("NO_COLOR") == "" && !dumb()}
}

// dumb says that the terminal knows no escape sequences.
func dumb() bool { return os.Getenv("TERM") == "dumb" }

// terminalWidth is that of the terminal, or of a page where there is none.
func terminalWidth(w any, page int) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return page
}

// progress shows on a terminal how far a long log has been read; anywhere else
// it shows nothing.
type progress struct {
	out io.Writer
	// size is how many bytes there are, 0 where that is not known.
	size  int64
	last  time.Time
	n     int
	shown bool
	// before is what earlier files had, of the bytes read.
	before int64
	reader *logfile.Reader
}

func newProgress(w io.Writer, size int64) *progress {
	if !isTerminal(w) || dumb() {
		w = nil
	}
	return &progress{out: w, size: size, last: time.Now()}
}

// show hears of every message.
func (p *progress) show(r *logfile.Reader) {
	const every = 4096 // messages between two looks at the clock
	if p.out == nil {
		return
	}
	if r != p.reader {
		if p.reader != nil {
			p.before += p.reader.Consumed()
		}
		p.reader = r
	}
	if p.n++; p.n%every != 0 || time.Since(p.last) < time.Second {
		return
	}
	p.last, p.shown = time.Now(), true
	read := p.before + r.Consumed()
	text := fmt.Sprintf("%d MiB", read>>20)
	if p.size > 0 {
		text = fmt.Sprintf("%d %% of %d MiB", 100*read/p.size, p.size>>20)
	}
	fmt.Fprintf(p.out, "\r%s read, %d messages", text, p.n)
}

// clear removes the last line shown.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
