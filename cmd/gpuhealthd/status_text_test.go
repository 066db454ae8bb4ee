package main

import (
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "0s ago",
		59 * time.Second:                "59s ago",
		10 * time.Second:                "10s ago",
		30 * time.Minute:                "30m ago",
		61 * time.Second:                "1m1s ago",
		2 * time.Hour:                   "2h ago",
		10*time.Hour + 10*time.Minute:   "10h10m ago",
		2*time.Hour + 500*time.Second/2: "2h4m10s ago",
	} {
		if got := ago(noon, noon.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
