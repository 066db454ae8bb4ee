package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxRead is the most that is read of one bundle: more than any has.
const maxRead = 2 * MaxBundle

// Bundle is what was read of one incident's evidence.
type Bundle struct {
	ID     string  `json:"id"`
	Pieces []Piece `json:"pieces"`
	// Damage is what could not be read, in words; empty for a whole bundle.
	Damage []string `json:"damage,omitempty"`
}

// ErrNoBundle is matched by the error for a text in which there is no piece at
// all.
var ErrNoBundle = errors.New("not a bundle of evidence")

// Read reads a bundle of an incident. What is damaged in it is told in the Bundle,
// and the rest is read; it is an error where nothing is left.
func Read(id string, r io.Reader) (Bundle, error) {
	b := Bundle{ID: id}
	lines := bufio.NewReader(io.LimitReader(r, maxRead))
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return b, fmt.Errorf("read the evidence of incident %s: %w", id, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			b.take(n, line)
		}
		if err != nil {
			break
		}
	}
	if len(b.Pieces) == 0 {
		return b, fmt.Errorf("evidence of incident %s: %w", id, ErrNoBundle)
	}
	return b, nil
}

// take reads one line.
func (b *Bundle) take(n int, line []byte) {
	var p Piece
	err := json.Unmarshal(line, &p)
	switch {
	case err != nil && line[len(line)-1] != '\n':
		b.damaged("line %d is cut: its writer died, or is at it now", n)
	case err != nil:
		b.damaged("line %d cannot be read: %v", n, err)
	case !p.whole():
		b.damaged("line %d has nothing that this version knows (kind %q)", n, p.Kind)
	default:
		b.Pieces = append(b.Pieces, p)
	}
}

// maxDamage bounds what is told of a file that is no bundle.
const maxDamage = 20

func (b *Bundle) damaged(format string, args ...any) {
	if len(b.Damage) < maxDamage {
		b.Damage = append(b.Damage, fmt.Sprintf(format, args...))
	}
}

// whole says whether a piece has the part that its kind promises.
func (p Piece) whole() bool {
	switch p.Kind {
	case KindNode:
		return p.Node != nil
	case KindLine:
		return p.Line != nil
	case KindSample:
		return p.Sample != nil
	case KindVerdict:
		return p.Verdict != nil
	case KindProgress:
		return p.Progress != nil
	case KindDeed:
		return p.Deed != nil
	case KindOutcome:
		return p.Outcome != nil
	case KindEvent:
		return p.Event != nil
	case KindDiag:
		return p.Diag != nil
	case KindReplacement:
		return p.Replace != nil
	case KindMissing:
		return p.Missing != nil
	}
	return p.Kind == KindEnd
}

// Of gives the pieces of a kind, in order.
func (b Bundle) Of(k Kind) []Piece {
	return slices.DeleteFunc(slices.Clone(b.Pieces), func(p Piece) bool { return p.Kind != k })
}

// last gives the newest piece of a kind.
func (b Bundle) last(k Kind) (p Piece, ok bool) {
	for _, p := range slices.Backward(b.Pieces) {
		if p.Kind == k {
			return p, true
		}
	}
	return p, false
}
