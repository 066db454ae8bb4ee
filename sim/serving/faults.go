package serving

import (
	"fmt"
	"strconv"
	"strings"
)

// faults are what is wrong with an engine at the moment, or meant to be.
type faults struct {
	slow    float64 // how much slower it is; 1 is not
	dead    bool    // its loop is: nothing is begun, nothing goes on
	stuck   int     // the rank that stands still, counted from 1; 0 is none
	hanging bool    // metrics do not answer
	asleep  bool    // on purpose
}

// Faults lists what Fault takes.
func Faults() []string {
	return []string{"slow FACTOR", "dead on|off", "stuck RANK|off", "hang-metrics on|off", "sleep on|off", "cut", "restart", "well"}
}

// Fault plays a fault, such as "slow 8", or ends one. Cut cuts every stream in the
// middle; restart does that too, and begins a new life with all counters at 0; well
// ends all that lasts.
func (e *Engine) Fault(text string) error {
	name, value, _ := strings.Cut(text, " ")
	on := value == "on"
	if (name == "dead" || name == "hang-metrics" || name == "sleep") && !on && value != "off" {
		return fmt.Errorf("fault %q: want on or off", text)
	}
	switch name {
	case "slow":
		factor, err := strconv.ParseFloat(value, 64)
		if err != nil || factor <= 0 {
			return fmt.Errorf("fault %q: want a factor above 0", text)
		}
		e.change(func() { e.faults.slow = factor })
	case "dead":
		e.change(func() { e.faults.dead = on })
	case "stuck":
		rank, err := strconv.Atoi(value)
		if value != "off" && (err != nil || rank < 0 || rank >= e.options.Ranks) {
			return fmt.Errorf("fault %q: want a rank from 0 to %d, or off", text, e.options.Ranks-1)
		}
		e.change(func() { e.faults.stuck = rank + 1 })
		if value == "off" {
			e.change(func() { e.faults.stuck = 0 })
		}
	case "hang-metrics":
		e.change(func() { e.faults.hanging = on })
	case "sleep":
		e.change(func() { e.faults.asleep = on })
	case "cut":
		e.change(e.cut)
	case "restart":
		e.change(func() {
			e.cut()
			e.life = e.born()
		})
	case "well":
		e.change(func() { e.faults = faults{slow: 1} })
	default:
		return fmt.Errorf("fault %q: want one of %s", text, strings.Join(Faults(), ", "))
	}
	return nil
}

// cut ends the requests that are under way, without a word to their clients.
func (e *Engine) cut() {
	close(e.life.cut)
	e.life.cut = make(chan struct{})
}

// still says whether a rank computes nothing.
func (f faults) still(rank int) bool { return f.dead || f.asleep || f.stuck == rank+1 }
