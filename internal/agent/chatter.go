package agent

import (
	"log/slog"

	"golang.org/x/time/rate"
)

// Of a flood so many lines a second are told, after so many at once.
const (
	chatterRate  = 10
	chatterBurst = 100
)

// chatter bounds how many lines of one sort are logged. All of them are counted.
type chatter struct {
	log   *slog.Logger
	what  string
	limit *rate.Limiter
	held  int
}

func newChatter(log *slog.Logger, what string) *chatter {
	return &chatter{log: log, what: what, limit: rate.NewLimiter(chatterRate, chatterBurst)}
}

// allows says whether the next line may be told, and tells how many before it
// were not.
func (c *chatter) allows() bool {
	if !c.limit.Allow() {
		c.held++
		return false
	}
	if c.held > 0 {
		c.log.Warn("lines were held back", "of", c.what, "lines", c.held)
		c.held = 0
	}
	return true
}
