package child

import (
	"bytes"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Died is the end of a child.
type Died struct {
	// Exit is the exit status; -1 if a signal ended it.
	Exit int `json:"exit"`
	// Signal is the name of the signal that ended it. A Go program exits with
	// status 2 where that was a fault in a library, and says which.
	Signal string `json:"signal,omitempty"`
	// Symbol is the function that an installed library lacks, where that is what
	// ended the child (exit status 127).
	Symbol string `json:"symbol,omitempty"`
	// Stderr is the begin and the end of what the child wrote there.
	Stderr string `json:"stderr,omitempty"`
}

// died reads a process's end.
func died(status syscall.WaitStatus, stderr []byte) Died {
	d := Died{Exit: status.ExitStatus(), Stderr: strings.TrimSpace(strings.ToValidUTF8(string(stderr), "?"))}
	if status.Signaled() {
		d.Exit, d.Signal = -1, unix.SignalName(status.Signal())
	}
	switch d.Exit {
	case 2:
		d.Signal = faultSignal(stderr)
	case 127:
		d.Symbol = missingSymbol(stderr)
	}
	return d
}

// faultSignal reads the Go runtime's first words, "SIGBUS: bus error" or
// "fatal error: …\n[signal SIGSEGV: …".
func faultSignal(stderr []byte) string {
	for line := range bytes.Lines(stderr[:min(len(stderr), 256)]) {
		name, _, found := bytes.Cut(bytes.TrimPrefix(line, []byte("[signal ")), []byte(":"))
		if found && unix.SignalNum(string(name)) != 0 {
			return string(name)
		}
	}
	return ""
}

// missingSymbol reads the dynamic linker's last words, "…: symbol lookup error:
// …: undefined symbol: NAME".
func missingSymbol(stderr []byte) string {
	_, name, found := bytes.Cut(stderr, []byte("undefined symbol: "))
	if !found {
		return ""
	}
	end := bytes.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end >= 0 {
		name = name[:end]
	}
	return string(name)
}

// headSize and tailSize are how much of the child's words is kept.
const (
	headSize = 512
	tailSize = 512
)

// words keeps the begin and the end of what is written to it: the one says what
// went wrong, or the other does.
type words struct {
	head, tail []byte
	cut        bool
}

func (w *words) Write(p []byte) (int, error) {
	n := min(len(p), headSize-len(w.head))
	w.head = append(w.head, p[:n]...)
	w.tail = append(w.tail, p[n:]...)
	if over := len(w.tail) - tailSize; over > 0 {
		w.tail, w.cut = append(w.tail[:0], w.tail[over:]...), true
	}
	return len(p), nil
}

func (w *words) text() []byte {
	if w.cut {
		return slices.Concat(w.head, []byte(" … "), w.tail)
	}
	return slices.Concat(w.head, w.tail)
}
