package ecc

import (
	"testing"
	"time"
)

func TestPages(t *testing.T) {
	const day = 24 * time.Hour
	type seen struct {
		after time.Duration // since the reading before
		r     Retired
	}
	pages := func(sbe, dbe int) Retired { return Retired{SingleBit: &sbe, DoubleBit: &dbe} }
	read := func(after time.Duration, sbe, dbe int) seen { return seen{after, pages(sbe, dbe)} }
	for _, c := range []struct {
		name string
		seen []seen
		want bool
	}{
		{"none", []seen{read(0, 0, 0)}, false},
		{"all but the last", []seen{read(0, 47, 15)}, false},
		{"the last that may be", []seen{read(0, 48, 15)}, true},
		{"those alone that are known", []seen{{0, Retired{SingleBit: pages(63, 0).SingleBit}}}, true},
		{"nothing is known", []seen{{0, Retired{}}}, false},
		{"many for double-bit errors, long ago", []seen{read(0, 0, 30), read(time.Minute, 0, 30)}, false},
		{"one more of them", []seen{read(0, 0, 30), read(time.Minute, 0, 31)}, false},
		{"two more of them", []seen{read(0, 0, 30), read(time.Minute, 0, 31), read(time.Minute, 0, 32)}, true},
		{"two at once", []seen{read(0, 0, 14), read(time.Minute, 0, 16)}, true},
		{"two at once below the limit", []seen{read(0, 0, 13), read(time.Minute, 0, 15)}, false},
		{"two more while nobody looked", []seen{read(0, 0, 30), read(day, 0, 32)}, false},
		{"unknown in between", []seen{read(0, 0, 30), {time.Minute, Retired{}}, read(time.Minute, 0, 32)}, false},
	} {
		var p Pages
		now, got := start, false
		for _, s := range c.seen {
			now = now.Add(s.after)
			got = p.Read(now, s.r)
		}
		if got != c.want {
			t.Errorf("%s: too many is %v, want %v", c.name, got, c.want)
		}
	}
}

// One page a week is what a board may do, with any number behind it.
func TestPagesSlowly(t *testing.T) {
	var p Pages
	dbe := 20
	for at := time.Duration(0); at < 5*PagesWindow; at += time.Minute {
		if at > 0 && at%(PagesWindow+time.Hour) == 0 {
			dbe++
		}
		if p.Read(start.Add(at), Retired{DoubleBit: &dbe}) {
			t.Fatalf("too many after %v, with %d", at, dbe)
		}
	}
	if dbe != 24 {
		t.Errorf("%d pages, want four more than 20", dbe)
	}
}
