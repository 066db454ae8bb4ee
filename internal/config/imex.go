package config

import (
	"fmt"
	"time"
)

// IMEX says how the state of IMEX is asked, by which trays of an NVLink rack lend each
// other memory.
type IMEX struct {
	// Command is a program of the host that prints the state of its daemon in one
	// word, with its arguments; none asks nobody.
	Command []string `yaml:"command"`
	// Deadline is how long it may take, from 100 ms to 15 s.
	Deadline Duration `yaml:"deadline"`
}

func defaultIMEX() IMEX {
	return IMEX{Command: []string{"nvidia-imex-ctl", "-q"}, Deadline: Duration(5 * time.Second)}
}

func (i IMEX) check() []finding {
	d := time.Duration(i.Deadline)
	return []finding{
		{"imex.command", len(i.Command) > 0 && i.Command[0] == "", "its first word is empty"},
		{"imex.deadline", d < 100*time.Millisecond || d > 15*time.Second, fmt.Sprintf("%s is not from 100ms to 15s", d)},
	}
}
