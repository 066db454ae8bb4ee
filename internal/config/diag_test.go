package config

import (
	"strings"
	"testing"
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

func TestBadDiagnosesAreRefused(t *testing.T) {
	for in, want := range map[string]string{
		"{mode: annotation}":                      `repair.diag.mode: "annotation" is not off or command`,
		"{command: []}":                           "repair.diag.command: empty",
		"{level: 4}":                              "repair.diag.level: 4 is not 2 or 3",
		"{level2: 1s}":                            "repair.diag.level2: 1s is less than 10s",
		"{unproven: ask}":                         `repair.diag.unproven: "ask" is not hold or accept`,
		"{schedule: {every: 1m}}":                 "repair.diag.schedule.every: 1m0s is less than 1h0m0s",
		"{schedule: {every: 24h}}":                "repair.diag.schedule.every: 24h0m0s, and repair.diag.mode is off: nobody here diagnoses",
		"{schedule: {atOnce: 0}}":                 "repair.diag.schedule.atOnce: 0 is less than 1",
		"{schedule: {perRack: 0}}":                "repair.diag.schedule.perRack: 0 is less than 1",
		"{schedule: {rack: a b}}":                 `repair.diag.schedule.rack: "a b" is not a label's key`,
		"{schedule: {level: 1}}":                  "repair.diag.schedule.level: 1 is not 2 or 3",
		`{schedule: {windows: ["22-6"]}}`:         `"22-6" is not a time of day; write it as 22:00-06:00`,
		`{schedule: {windows: ["22:00"]}}`:        `"22:00" is not a time of day`,
		`{schedule: {windows: ["1:00-25:00"]}}`:   `"1:00-25:00" is not a time of day`,
		`{schedule: {windows: ["01:00-02:00x"]}}`: `"01:00-02:00x" is not a time of day`,
		`{schedule: {windows: ["01:00-01:00"]}}`:  `"01:00-01:00" is not a time of day`,
	} {
		_, err := Parse("c.yaml", []byte("repair:\n  diag: "+in+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "c.yaml:2: repair.diag.") {
			t.Errorf("%s: %v, want c.yaml:2 and %s", in, err, want)
		}
	}
}

func TestScheduleOfDiagnoses(t *testing.T) {
	c, err := Parse("c.yaml", []byte("node: a\nrepair:\n  diag: {mode: command, level2: 20m, patience: 5m, schedule: {every: 24h, windows: [\"22:30-05:00\"]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Policy().Diag
	window := remediate.Window{From: 22*time.Hour + 30*time.Minute, To: 5 * time.Hour}
	if d.Mode != remediate.MeansCommand || d.Schedule.Every != 24*time.Hour || len(d.Schedule.Windows) != 1 || d.Schedule.Windows[0] != window {
		t.Errorf("%+v", d)
	}
	if d.Level2 <= 25*time.Minute {
		t.Errorf("a deed of level 2 has %s, less than its run and what is waited for", d.Level2)
	}
	if other := (Config{Node: "b", Repair: c.Repair}).Policy().Diag.Schedule.Share; other == d.Schedule.Share || other < 0 || other >= 1 || d.Schedule.Share >= 1 {
		t.Errorf("two nodes have the places %v and %v", other, d.Schedule.Share)
	}
}
