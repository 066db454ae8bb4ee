package canary

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The prompts have these many words; a word is about 1.3 tokens of the tokenizers
// that engines have, so they are 500 to 2,000 tokens long.
var promptWords = [...]int{400, 750, 1100, 1500}

// vocabulary is what the prompts are made of. What they say does not matter: their
// length does, and that no two begin alike, since an engine keeps what it has read.
var vocabulary = strings.Fields(`the a one every another old new quiet broken spare slow warm cold full empty
node rack switch cable fan lamp door shelf clock letter river bridge harbour engine signal platform train garden
window table machine number page road station mountain valley winter summer morning evening operator driver
neighbour carries follows measures repairs replaces counts remembers opens closes crosses watches holds leaves
reaches finds under over beside behind before after without between because while until and but then again`)

// prompt is the nth request's text. The same number gives the same text.
func prompt(n uint64) string {
	random := rand.New(rand.NewPCG(n, uint64(len(vocabulary))))
	words := promptWords[n%uint64(len(promptWords))]
	var text strings.Builder
	fmt.Fprintf(&text, "Note %d. ", n)
	for i := range words {
		text.WriteString(vocabulary[random.IntN(len(vocabulary))])
		if i%12 == 11 {
			text.WriteByte('.')
		}
		text.WriteByte(' ')
	}
	text.WriteString("Say in one sentence what this note is about.")
	return text.String()
}
