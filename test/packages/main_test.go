// Package packages proves the deb and the rpm: what is in them, what lintian says, and
// what they do to a Debian system of their own when they come, change and go; and that
// the unit does in a booted systemd what it promises, on a simulated GPU node. Only root
// can have such a system; mmdebstrap makes it, once, in the cache.
package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// The packages are of this version; upgrade makes a deb of the next.
const (
	version = "1.0.0"
	next    = "1.0.1"
)

var (
	programs daemontest.Programs
	built    packages
)

func TestMain(m *testing.M) {
	defer programs.Remove()
	defer func() { _ = os.RemoveAll(built.dir) }() // a leftover in the temp folder harms nothing
	m.Run()
}

// packages are what make packages makes for this machine, built by the first test that
// asks for them.
type packages struct {
	once sync.Once
	dir  string
}

// get gives the one package whose name ends so.
func (p *packages) get(t testing.TB, ending string) string {
	t.Helper()
	p.once.Do(func() {
		var err error
		p.dir, err = os.MkdirTemp("", "packages-")
		must(t, err)
		run(t, "../../packaging/packages.sh", run(t, "go", "env", "GOHOSTARCH"), version, p.dir)
	})
	found, err := filepath.Glob(filepath.Join(p.dir, "*"+ending))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("packages *%s: %v", ending, found)
	}
	return found[0]
}

// upgrade is the deb of the next version, which has another default configuration.
func upgrade(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	tree, deb := filepath.Join(dir, "tree"), filepath.Join(dir, "gpuhealthd_"+next+".deb")
	run(t, "dpkg-deb", "-R", built.get(t, ".deb"), tree)
	control := filepath.Join(tree, "DEBIAN/control")
	write(t, control, strings.Replace(read(t, control), "Version: "+version, "Version: "+next, 1))
	config := filepath.Join(tree, "etc/gpuhealthd/config.yaml")
	write(t, config, read(t, config)+"# New in "+next+".\n")
	run(t, "dpkg-deb", "-Znone", "-b", tree, deb)
	return deb
}

// needs skips the test where a program is not installed.
func needs(t testing.TB, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed (Debian: apt-get install %s)", program, debian)
	}
}

// run runs a program to its end, which must be a good one, and gives what it printed.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// write replaces a file's text and keeps its mode.
func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
