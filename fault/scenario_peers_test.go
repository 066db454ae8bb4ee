package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/serving"
)

// groups reads one group, "NAME ROLE:WORKER=LIFE[@GPU[,GPU…]]… [unknown:ROLE…]", or
// nothing for none, or off where nobody follows any. A worker with GPUs is of this node; a
// LIFE of - does not run, of ~ nothing is heard, and with ? behind it a worker is not ready, with
// ! it is in the group no more by its labels.
func (s *stage) groups(n int, text string) Groups {
	f := strings.Fields(text)
	switch {
	case len(f) == 0:
		return Groups{}
	case text == "off":
		return Groups{Off: true}
	}
	g := serving.Group{Name: f[0], Peers: map[serving.Role][]serving.Worker{serving.Prefill: {}, serving.Decode: {}}}
	for _, word := range f[1:] {
		role, rest, ok := strings.Cut(word, ":")
		if role == "unknown" {
			delete(g.Peers, serving.Role(rest))
			continue
		}
		name, life, said := strings.Cut(rest, "=")
		life, gpus, here := strings.Cut(life, "@")
		life, aside := strings.CutSuffix(life, "!")
		life, unready := strings.CutSuffix(life, "?")
		if !ok || !said || !slices.Contains([]serving.Role{serving.Prefill, serving.Decode}, serving.Role(role)) {
			s.t.Fatalf("line %d: not ROLE:WORKER=LIFE: %q", n, word)
		}
		w := serving.Worker{Name: name, UID: "uid-" + name, Role: serving.Role(role), Life: strings.Trim(life, "-~"), Unheard: life == "~", Unready: unready, Aside: aside}
		if _, known := g.Peers[w.Role]; known {
			g.Peers[w.Role] = append(g.Peers[w.Role], w)
		}
		if here {
			w.GPUs, w.Lease = uuids(gpus), 30*time.Second
			g.Here = append(g.Here, w)
		}
	}
	return Groups{Groups: []serving.Group{g}}
}

// stale prints who may serve from a worker that is gone, and who keeps KV cache for one.
func (s *stage) stale() {
	for _, w := range s.judge.Stale() {
		fmt.Fprintf(&s.out, "+%-8v %s left by %s at +%v\n", s.now.Sub(s.start), w.Name, w.Lost, w.Since.Sub(s.start))
	}
	for _, w := range s.judge.Stranded(s.now) {
		fmt.Fprintf(&s.out, "+%-8v %s keeps %.2f of its cache, of %.2f GPUs, until +%v\n", s.now.Sub(s.start), w.Name, w.Share, w.GPUs, w.Until.Sub(s.start))
	}
}

// rollout reads "SETTLE LIMIT", or nothing.
func rollout(t *testing.T, n int, text string) (r Rollout) {
	if text == "" {
		return r
	}
	settle, limit, _ := strings.Cut(text, " ")
	var errs [2]error
	r.Settle, errs[0] = time.ParseDuration(settle)
	r.Limit, errs[1] = time.ParseDuration(limit)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatalf("line %d: %v", n, err)
	}
	return r
}
