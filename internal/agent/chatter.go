package agent

import (
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// Of a flood so many lines a second are told, after so many at once.
const (
	chatterRate  = 10
	chatterBurst = 100
	// heldEvery is how often it is told at most that lines were held back.
	heldEvery = time.Second
)

// chatter bounds how many lines of one sort are logged. All of them are counted.
type chatter struct {
	log   *slog.Logger
	what  string
	limit *rate.Limiter
	// held counts the lines that were not told since the last report of that.
	held   int
	report rate.Sometimes
}

func newChatter(log *slog.Logger, what string) *chatter {
	return &chatter{log: log, what: what, limit: rate.NewLimiter(chatterRate, chatterBurst), report: rate.Sometimes{Interval: heldEvery}}
}

// allows says whether the next line may be told, and tells how many before it
// were not.
func (c *chatter) allows() bool {
	if !c.limit.Allow() {
		c.held++
		return false
	}
	if c.held > 0 {
		c.report.Do(func() {
			c.log.Warn("lines were held back", "of", c.what, "lines", c.held)
			c.held = 0
		})
	}
	return true
}
