package serving

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is how a canary's request ended.
type Outcome uint8

// The outcomes. None but Passed counts for a replica.
const (
	// Passed: the whole answer came, in time.
	Passed Outcome = iota
	// Slow: the answer came too late, or was not over in a long time.
	Slow
	// Cut: the answer has begun, and its stream ended without its end marker.
	Cut
	// Frozen: the connection stayed open and no token came.
	Frozen
	// Rejected: the engine has answered with an error.
	Rejected
	// Unreachable: nobody took the request.
	Unreachable
)

var outcomeNames = [...]string{"passed", "slow", "cut", "frozen", "rejected", "unreachable"}

// Outcomes are all of them.
func Outcomes() []Outcome {
	return []Outcome{Passed, Slow, Cut, Frozen, Rejected, Unreachable}
}

// String gives the outcome's name, as metrics have it.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "invalid"
}

// MarshalText writes the outcome as String does.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the outcome's name.
func (o *Outcome) UnmarshalText(text []byte) error {
	n := slices.Index(outcomeNames[:], string(text))
	if n < 0 {
		return fmt.Errorf("outcome of a canary's request: %.40q is none", text)
	}
	*o = Outcome(n)
	return nil
}

// Probe is one canary's request to a replica.
type Probe struct {
	Replica  Replica
	Endpoint string // the URL
	// At is when it was sent, Took how long it was.
	At      time.Time
	Took    time.Duration
	Outcome Outcome
	// Why says it in words where it has not passed.
	Why string
	// FirstToken is how long the first token took; 0 where none came.
	FirstToken time.Duration
	// Tokens came in all.
	Tokens int
}

// Rate is how many tokens came a second, behind the first; 0 where that cannot be
// told.
func (p Probe) Rate() float64 {
	rest := (p.Took - p.FirstToken).Seconds()
	if p.Tokens < 2 || rest <= 0 {
		return 0
	}
	return float64(p.Tokens-1) / rest
}
