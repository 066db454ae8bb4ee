package guard

import (
	"fmt"
	"time"
)

// Limit is how often something may be done within a time.
type Limit struct {
	Times int
	Per   time.Duration
}

// Act is one thing that was begun.
type Act struct {
	Action Action    `json:"action"`
	At     time.Time `json:"at"`
}

// Rate holds what this node has done too often lately.
func (r Rules) Rate(now time.Time, a Action, acts []Act) *Hold {
	limit, limited := r.Rates[a]
	if !limited {
		return nil
	}
	var oldest time.Time
	done := 0
	for _, act := range acts {
		if act.Action != a || now.Sub(act.At) >= limit.Per {
			continue
		}
		if done++; oldest.IsZero() || act.At.Before(oldest) {
			oldest = act.At
		}
	}
	if done < limit.Times {
		return nil
	}
	return &Hold{Rate, "", fmt.Sprintf("done %s within %s, and %d may be", times(done), limit.Per, limit.Times),
		oldest.Add(limit.Per).UTC().Format(time.RFC3339)}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Recent gives the acts that still count.
func (r Rules) Recent(now time.Time, acts []Act) []Act {
	var recent []Act
	for _, a := range acts {
		if now.Sub(a.At) < r.Rates[a.Action].Per {
			recent = append(recent, a)
		}
	}
	return recent
}
