package serving

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	t.Parallel()
	var w words
	for _, c := range []struct{ why, want string }{
		{"slow, the first token took 11.2s", "slow, the first token took 11.2s"},
		{"slow, the first token took 950ms", "slow, the first token took 11.2s"},
		{"", "slow, the first token took 11.2s"},
		{"cut", "slow, the first token took 11.2s"},
		{"", "slow, the first token took 11.2s"},
		{"cut", "slow, the first token took 11.2s"},
		{"cut", "cut"},
		{"slow, the first token took 12s", "cut"},
		{"slow, the first token took 13s", "slow, the first token took 13s"},
	} {
		if w.take(c.why); w.text != c.want {
			t.Errorf("after %q: %q, want %q", c.why, w.text, c.want)
		}
	}
	w = words{}
	if w.take(strings.Repeat("€", 500)); len(w.text) > wordsLimit || !utf8.ValidString(w.text) || w.text == "" {
		t.Errorf("a long one: %q", w.text)
	}
}
