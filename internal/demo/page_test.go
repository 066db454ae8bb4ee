package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"fits", "twelve chars", "twelve chars"},
		{"between words", "  one two three four", "  one two\n    three\n    four"},
		{"a space at the edge", "abcdefghijkl mn", "abcdefghijkl\n  mn"},
		{"a word too long", "abcdefghijklmnop", "abcdefghijkl\n  mnop"},
		{"an indented word too long", "  abcdefghijklmnop", "  abcdefghij\n    klmnop"},
		{"characters, not bytes", "■■■■■■■■■■■■", "■■■■■■■■■■■■"},
		{"a colour takes no room", "\x1b[31mone two three\x1b[0m four", "\x1b[31mone two\n  three\x1b[0m four"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fold(c.in, 12)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// broken fails every write after the first.
type broken struct{ told strings.Builder }

func (b *broken) Write(text []byte) (int, error) {
	if b.told.Len() > 0 {
		return 0, errBroken
	}
	return b.told.Write(text)
}

var errBroken = errors.New("broken")

func TestPageEndsThePlayOnce(t *testing.T) {
	var ends []error
	var out broken
	p := &page{out: &out, width: 80, end: func(err error) { ends = append(ends, err) }}
	for _, text := range []string{"he", "ard\n", "lost\n", "lost\n"} {
		_, _ = p.Write([]byte(text)) // the end is what tells
	}
	if len(ends) != 1 || !errors.Is(ends[0], errBroken) || out.told.String() != "heard\n" {
		t.Errorf("%v, told %q", ends, out.told.String())
	}
}
