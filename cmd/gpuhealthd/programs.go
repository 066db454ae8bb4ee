package main

import (
	"os/exec"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// missing gives the programs that a configuration names and that cannot be run here.
func missing(cfg config.Config) (all []agent.MissingProgram) {
	for _, p := range cfg.Programs() {
		if _, err := exec.LookPath(p.Name); err != nil {
			all = append(all, agent.MissingProgram{Setting: p.Setting, Why: err.Error()})
		}
	}
	return all
}
