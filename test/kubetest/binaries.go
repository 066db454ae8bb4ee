package kubetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binaries returns the folder that holds the programs, after having those built
// that are missing. Which folder that is, KUBEBUILDER_ASSETS included, is the
// script's decision.
func binaries(programs ...string) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	build := exec.Command(filepath.Join(root, "test", "cluster", "build.sh"), programs...)
	build.Stderr = os.Stderr // its progress
	folder, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("kubetest: no %s: %s: %w (to build them, type: make cluster)", strings.Join(programs, " and "), build.Path, err)
	}
	return string(bytes.TrimSpace(folder)), nil
}

// repositoryRoot asks the go command: a test runs in its own package's folder.
func repositoryRoot() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("kubetest: go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(mod))), nil
}
