package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/internal/agent"
	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// What may be missing on this machine, or for the packages' unit, is told, and no reason
// to refuse a file that may be for others.
func TestValidateWarns(t *testing.T) {
	for text, wants := range map[string][]string{
		"{mode: repair, repair: {drain: {mode: command, command: [sh]}, diag: {mode: command, command: [/nonexistent/dcgmi]}}}": {
			": warning: repair.diag.command: on this machine: ", "/nonexistent/dcgmi"},
		"kubernetes: {kubeconfig: /root/.kube/config}": {": warning: kubernetes.kubeconfig: /root/.kube/config: the unit of the packages hides homes"},
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		cmd := root()
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		cmd.SetArgs([]string{"config", "validate", path})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		got := errs.String()
		for _, want := range wants {
			if !strings.HasPrefix(got, path+": ") || !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
				t.Errorf("%q, want one line with %q", got, want)
			}
		}
		if out.String() != path+": valid\n" {
			t.Errorf("%q", out.String())
		}
	}
}

// TestAKubeconfigInAHome: the daemon's error says why one that is there cannot be read.
func TestAKubeconfigInAHome(t *testing.T) {
	cfg := config.Default()
	cfg.Kubernetes.Kubeconfig = "/root/nowhere/kubeconfig"
	if _, err := actuate(&agent.Options{}, cfg); err == nil || !strings.Contains(err.Error(), "ProtectHome") {
		t.Error(err)
	}
}
