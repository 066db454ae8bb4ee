package e2e

import (
	"os"
	"os/exec"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// requireMounts skips the test where the command, which mounts, does not work.
func requireMounts(t testing.TB, argv []string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Skipf("this machine allows no private mounts: %v %s", err, out)
	}
}
