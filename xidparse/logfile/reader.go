package logfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// MaxLine is the length in bytes to which a line is read. The kernel's records
// are under 1 KiB, and the journal's JSON of one is a few KiB.
const MaxLine = 64 << 10

// Options say what to read beside plain text and gzip.
type Options struct {
	// Zstd opens a zstd stream. Without it such a file is refused.
	Zstd func(io.Reader) (io.Reader, error)
	// Kata also reads the consoles of Kata guests that their shim has logged;
	// see xidparse.CutKata.
	Kata bool
}

// Message is one message of the log.
type Message struct {
	xidparse.Line
	// Number is that of the message's first line in the file, from 1.
	Number int
}

// Reader reads messages. It is not safe for concurrent use.
type Reader struct {
	opts   Options
	source *counter
	lines  lines
	entry  entry
	notice []byte
	author author
}

// NewReader begins to read. It fails where the compression cannot be
// opened, and for a form that is not read.
func NewReader(source io.Reader, opts Options) (*Reader, error) {
	r := &Reader{opts: opts, source: &counter{in: source}}
	plain, err := decompress(bufio.NewReaderSize(r.source, MaxLine), opts.Zstd)
	if err != nil {
		return nil, fmt.Errorf("log, byte %d: %w", r.source.n, err)
	}
	r.lines.in = plain
	return r, nil
}

// Read gives the next message that is not blank, whoever wrote it. Its text is
// valid until the next call. The error at the end is io.EOF; any other names
// the line and the byte of the source.
func (r *Reader) Read() (Message, error) {
	m, err := r.message()
	if err != nil && !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("log, line %d, byte %d: %w", r.lines.number+1, r.source.n, err)
	}
	if err == nil && opensNotice(m.Line) {
		r.joinNotice(&m)
	}
	return m, err
}

// Consumed says how many bytes were taken from the source, compressed where it
// is, to show progress. It runs ahead of the messages by a buffer.
func (r *Reader) Consumed() int64 { return r.source.n }

// Overlong counts the lines that were cut at MaxLine.
func (r *Reader) Overlong() int { return r.lines.overlong }

func (r *Reader) message() (Message, error) {
	for {
		text, err := r.lines.next()
		if err != nil {
			return Message{}, err
		}
		m := Message{Number: r.lines.number}
		switch {
		case beginsEntry(text):
			r.entry.read(&r.lines)
			m.Line = r.entryLine()
		case beginsVerbose(text):
			r.entry.readVerbose(&r.lines)
			m.Line = r.entryLine()
		default:
			m.Line = xidparse.Cut(text)
			m.Kernel = r.author.wrote(text, m.Line)
		}
		if r.opts.Kata && !m.Kernel {
			if guest, ok := xidparse.CutKata(m.Text); ok {
				m.Line = guest
			}
		}
		if len(m.Text) > 0 {
			return m, nil
		}
	}
}

// entryLine is the message of the entry that was read.
func (r *Reader) entryLine() xidparse.Line {
	line := r.entry.line()
	r.author = author{begun: true, kernel: line.Kernel}
	return line
}

// The notice of a GPU that is dead when the driver probes it is one record of
// three lines, which dmesg and syslog write as three.
var (
	noticeHead  = []byte("NVRM: The NVIDIA GPU ")
	noticeLines = [][]byte{
		[]byte("NVRM: (PCI ID"),
		[]byte("NVRM: installed in this system has"),
		[]byte("NVRM: fallen off the bus"),
		[]byte("NVRM: is not responding"),
	}
)

func opensNotice(line xidparse.Line) bool {
	return line.Kernel && bytes.HasPrefix(line.Text, noticeHead) && bytes.IndexByte(line.Text, '\n') < 0
}

func continuesNotice(line xidparse.Line) bool {
	if !line.Kernel {
		return false
	}
	for _, head := range noticeLines {
		if bytes.HasPrefix(line.Text, head) {
			return true
		}
	}
	return false
}

// joinNotice appends the lines that follow and belong to the notice.
func (r *Reader) joinNotice(m *Message) {
	r.notice = append(r.notice[:0], m.Text...)
	for range 2 {
		text, err := r.lines.next()
		if err != nil {
			break // it comes again with the next call
		}
		line := xidparse.Cut(text)
		if !continuesNotice(line) {
			r.lines.unread()
			break
		}
		r.notice = append(append(r.notice, '\n'), line.Text...)
	}
	m.Text = r.notice
}
