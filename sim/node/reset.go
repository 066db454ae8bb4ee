package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What nvidia-smi's reset of a GPU does.
const (
	// ResetWorks is what Reset does.
	ResetWorks = "works"
	// ResetFails: nothing, and the tool says why.
	ResetFails = "fails"
	// ResetHangs: the tool does not return, and minds no signal but SIGKILL.
	ResetHangs = "hangs"
	// ResetHealsNothing: the tool says that it has worked, and all that was wrong
	// still is.
	ResetHealsNothing = "heals-nothing"
)

// resetKey is the control file's key of what a reset does: one of the words,
// behind "fails" with the tool's text.
const resetKey = "reset"

// Reset does what a reset of one GPU does to what the driver tells: volatile
// counters begin again, a pending remap is carried out, no recovery action is
// left. A failed remap stays, and what was counted in the board's life.
func (n *Node) Reset(gpu string) error {
	return n.edit(gpu, func(c *conf, i int) { c.reset(i) })
}

func (c *conf) reset(i int) {
	if c.get(i, "remap") == "pending" {
		c.set(i, "remap", "none")
		c.add(i, "remap.uncorrectable", 1)
	}
	c.remove(i, func(key string) bool {
		return key == "recovery" || strings.HasPrefix(key, "ecc.volatile.") || strings.HasPrefix(key, "clocks.") || isLinkCounter(key)
	})
}

// ResetAs says what nvidia-smi's reset of a GPU does from now on; the text is
// what the tool says where it fails.
func (n *Node) ResetAs(gpu, as, text string) error {
	if !slices.Contains([]string{ResetWorks, ResetFails, ResetHangs, ResetHealsNothing}, as) {
		return fmt.Errorf("reset %q: want works, fails, hangs or heals-nothing", as)
	}
	if (as == ResetFails) == (text == "") || strings.Contains(text, "\n") {
		return fmt.Errorf("reset %s %q: a failure has a text of one line, and nothing else has", as, text)
	}
	return n.edit(gpu, func(c *conf, i int) { c.set(i, resetKey, strings.TrimSpace(as+" "+text)) })
}

// ResetsAs tells what ResetAs has set.
func (n *Node) ResetsAs(gpu string) (as, text string, err error) {
	value, err := n.value(gpu, resetKey)
	as, text, _ = strings.Cut(value, " ")
	if as == "" {
		as = ResetWorks
	}
	return as, text, err
}

// Persistence tells whether persistence mode is on.
func (n *Node) Persistence(gpu string) (bool, error) {
	value, err := n.value(gpu, "persistence")
	return value == "1", err
}

// RecoveryAction tells what the driver wants done with a GPU, by number; 0 is
// nothing, and what it does not tell.
func (n *Node) RecoveryAction(gpu string) (int, error) {
	value, err := n.value(gpu, "recovery")
	action, _ := strconv.Atoi(value) // a word is none
	return action, err
}

// value reads a GPU's key as it stands.
func (n *Node) value(gpu, key string) (string, error) {
	c, err := n.read()
	if err != nil {
		return "", err
	}
	g, err := c.resolve(gpu)
	if err != nil {
		return "", err
	}
	return c.get(g.Index, key), nil
}
