// Package daemontest runs the real gpuhealthd binary on a simulated GPU node, for
// tests and benchmarks from outside: nothing of the daemon is faked, and the
// test sees what an operator sees.
//
// A Daemon may be started, killed and started again over the same memory. When
// its test fails, its log is shown.
package daemontest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// BinaryVariable names a daemon that was built already; without it one is built.
const BinaryVariable = "GPUHEALTHD_TEST_BINARY"

// Programs are the parts that a node's daemon runs on, built by the first test
// of a package that asks for them. The package removes them when its tests are
// over:
//
//	var programs daemontest.Programs
//
//	func TestMain(m *testing.M) {
//		defer programs.Remove()
//		m.Run()
//	}
type Programs struct {
	once sync.Once
	err  error
	dir  string
	root string // of the module
	// binary is the daemon, library the folder of the simulated driver.
	binary, library string
}

// Binary gives the daemon's path, for what is run but once.
func (p *Programs) Binary(t testing.TB) string {
	t.Helper()
	p.get(t)
	return p.binary
}

// Library gives the folder of the simulated driver.
func (p *Programs) Library(t testing.TB) string {
	t.Helper()
	p.get(t)
	return p.library
}

// Remove takes away what was built.
func (p *Programs) Remove() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir) // a leftover in the temp folder harms nothing
	}
}

func (p *Programs) get(t testing.TB) {
	t.Helper()
	if p.once.Do(func() { p.err = p.build() }); p.err != nil {
		t.Fatal(p.err)
	}
}

func (p *Programs) build() error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	path, root, _ := strings.Cut(strings.TrimSpace(string(module)), " ")
	p.root, p.library = root, filepath.Join(root, "build", "sim")
	if err := run(exec.Command("make", "-C", filepath.Join(root, "sim"), "OUT="+p.library)); err != nil {
		return err
	}
	if p.binary = os.Getenv(BinaryVariable); p.binary != "" {
		return nil
	}
	if p.dir, err = os.MkdirTemp("", "daemontest-"); err != nil {
		return err
	}
	p.binary = filepath.Join(p.dir, "gpuhealthd")
	return run(exec.Command("go", "build", "-o", p.binary, path+"/cmd/gpuhealthd"))
}

func run(cmd *exec.Cmd) error {
	// go-nvml binds deprecated functions, as the Makefile knows.
	cmd.Env = append(os.Environ(), "CGO_CFLAGS=-g -O2 -Wno-deprecated-declarations")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
