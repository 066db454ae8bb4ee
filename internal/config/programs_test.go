package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	for in, want := range map[string]string{
		"mode: contain":                    "",
		"repair: {diag: {mode: command}}":  "repair.diag.command=dcgmi",
		"repair: {reset: {mode: command}}": "", // nobody resets in mode contain
		"actuator: slurm":                  "slurm.scontrol=scontrol",
		"{actuator: exec, exec: {quarantine: [/opt/out], release: [/opt/in, now]}}":                                                                            "exec.quarantine=/opt/out exec.release=/opt/in",
		"{mode: repair, repair: {drain: {mode: command, command: [/opt/drain]}, reset: {mode: command}, reboot: {mode: command, command: [/opt/bmc, cycle]}}}": "repair.drain.command=/opt/drain repair.reset.program=nvidia-smi repair.reboot.command=/opt/bmc",
		"{mode: repair, repair: {host: [nsenter, -t, \"1\"], reset: {mode: command}, reboot: {mode: command}}}":                                                "repair.host=nsenter",
	} {
		c, err := Parse("c.yaml", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range c.Programs() {
			got = append(got, fmt.Sprintf("%s=%s", p.Setting, p.Name))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}
