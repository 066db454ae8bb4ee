package agent

import (
	"errors"
	"log/slog"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// remindEvery is how often a trouble that stands is logged again.
const remindEvery = 10 * time.Minute

// complaint logs what keeps the Node from saying what it should, which is tried every
// few seconds: when it comes or changes, while it stands as a reminder, and that it is over.
type complaint struct {
	log *slog.Logger
	// text is what was logged last, at that time; empty is no trouble.
	text string
	at   time.Time
}

func (c *complaint) hear(now time.Time, err error) {
	if err == nil {
		if c.text != "" {
			c.log.Info("the Node says what it should")
		}
		c.text = ""
		return
	}
	if err.Error() == c.text && now.Sub(c.at) < remindEvery {
		return
	}
	c.text, c.at = err.Error(), now
	if errors.Is(err, remediate.ErrLater) {
		c.log.Info("the Node will say later what it should", "why", err)
		return
	}
	c.log.Error("the Node does not say what it should", "error", err)
}
