package command

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// OutputLimit is how much of a program's output is kept, in bytes.
const OutputLimit = 4 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-OutputLimit):]...)
	t.kept = t.kept[max(0, len(t.kept)-OutputLimit):]
	return len(p), nil
}

// text is the end as readable text.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.Map(readable, string(t.kept)))
	for len(text) > OutputLimit { // replaced bytes have grown
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text
}

func readable(r rune) rune {
	if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
		return r
	}
	return utf8.RuneError
}
