// Package image proves the container image: it is built without a registry, and runc runs
// it as the kubelet would run deploy/daemonset.yaml with deploy/driver-root.yaml, on a
// simulated GPU node. It needs root, mmdebstrap, umoci and runc.
package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

const version = "0.0.0"

var (
	programs daemontest.Programs
	built    image
)

func TestMain(m *testing.M) {
	defer programs.Remove()
	defer func() { _ = os.RemoveAll(built.dir) }() // a leftover in the temp folder harms nothing
	m.Run()
}

// image is what make image makes, built by the first test that asks for it.
type image struct {
	once sync.Once
	dir  string
}

// get gives the path of the OCI archive.
func (i *image) get(t testing.TB) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can run the image with runc")
	}
	for _, tool := range []string{"mmdebstrap", "umoci", "runc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian: apt-get install %s)", tool, tool)
		}
	}
	arch := run(t, "go", "env", "GOHOSTARCH")
	i.once.Do(func() {
		var err error
		i.dir, err = os.MkdirTemp("", "image-")
		must(t, err)
		run(t, "../../packaging/image/build.sh", arch, version, i.dir)
	})
	return filepath.Join(i.dir, "gpuhealthd-"+version+"-"+arch+".tar")
}

// unpack makes an OCI bundle of the image: its file system, and how it wants to be run.
func (i *image) unpack(t testing.TB) (bundle string) {
	t.Helper()
	archive, dir := i.get(t), t.TempDir()
	run(t, "tar", "-C", dir, "-xf", archive)
	bundle = filepath.Join(dir, "bundle")
	run(t, "umoci", "unpack", "--image", dir+":"+version, bundle)
	return bundle
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
