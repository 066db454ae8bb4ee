package child

import (
	"bytes"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Died is the end of a child.
type Died struct {
	// Exit is the exit status; -1 if a signal ended it, and then Signal is the
	// signal's name.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Symbol is the function that an installed library lacks, where that is what
	// ended the child (exit status 127).
	Symbol string `json:"symbol,omitempty"`
	// Stderr is the end of what the child wrote there.
	Stderr string `json:"stderr,omitempty"`
}

// died reads a process's end.
func died(status syscall.WaitStatus, stderr []byte) Died {
	d := Died{Exit: status.ExitStatus(), Stderr: strings.TrimSpace(strings.ToValidUTF8(string(stderr), "?"))}
	if status.Signaled() {
		d.Exit, d.Signal = -1, unix.SignalName(status.Signal())
	}
	if d.Exit == 127 {
		d.Symbol = missingSymbol(stderr)
	}
	return d
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

// tailSize is how much of the child's last words is kept.
const tailSize = 1 << 10

// tail keeps the end of what is written to it.
type tail struct {
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-tailSize):]...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}
