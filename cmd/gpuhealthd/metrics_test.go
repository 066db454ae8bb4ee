package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestBuildInfo(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(buildInfo())
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	families, err := reg.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "gpuhealthd_build_info" {
		t.Errorf("%v, %v", families, err)
	}
}
