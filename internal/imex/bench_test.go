package imex

import (
	"fmt"
	"slices"
	"testing"
)

// BenchmarkSee looks at 200 processes with 20 open files each: while the daemon is
// among them, as once a minute on a tray of a rack whose GPUs are used; and while it is
// not, which is when those who use it are looked for.
func BenchmarkSee(b *testing.B) {
	n := newNode(b)
	files := slices.Repeat([]string{"/dev/null"}, 19)
	for pid := range 200 {
		n.process(1000+pid, fmt.Sprintf("worker-%d", pid), files...)
	}
	look := func(b *testing.B) {
		for b.Loop() {
			if _, err := n.look.See(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("gone", look)
	n.process(2000, "nvidia-imex")
	b.Run("runs", look)
}
