package serving

import "strings"

// wordsLimit bounds what is said of a replica, in bytes.
const wordsLimit = 240

// words are what a replica's pod says of why it does not pass. An engine's own reason may
// differ with each request, by a time or a number of tokens: the words stay the same until
// another kind of reason has come twice in a row.
type words struct{ text, kind, last string }

// take takes in the reason of one look, empty where it was passed.
func (w *words) take(why string) {
	kind := kindOf(why)
	if why != "" && (w.text == "" || kind != w.kind && kind == w.last) {
		w.text, w.kind = strings.ToValidUTF8(why[:min(len(why), wordsLimit)], ""), kind
	}
	w.last = kind
}

// kindOf is a reason without the words that have a digit.
func kindOf(why string) string {
	var kept []string
	for _, word := range strings.Fields(why) {
		if !strings.ContainsAny(word, "0123456789") {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}
