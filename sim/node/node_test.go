package node

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func newNode(t *testing.T) *Node {
	t.Helper()
	n, err := New(t.TempDir(), "hgx-h100")
	must(t, err)
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// value reads one key of one GPU from the control file.
func value(t *testing.T, n *Node, gpu int, key string) string {
	t.Helper()
	c, err := n.read()
	must(t, err)
	return c.get(gpu, key)
}

func TestNames(t *testing.T) {
	n := newNode(t)
	g, err := n.GPU("1")
	must(t, err)
	for _, name := range []string{g.UUID, "0000:43:00", "43:00", "00000000:43:00.0", "0000:43:00.0"} {
		if got, err := n.GPU(name); err != nil || got != g {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, g)
		}
	}
	for _, name := range []string{"8", "-1", "", "43", "GPU-0", "0001:43:00"} {
		if got, err := n.GPU(name); err == nil {
			t.Errorf("%q is %+v", name, got)
		}
	}
}

func TestFaultsKeepTheRestOfTheFile(t *testing.T) {
	n := newNode(t)
	before := read(t, n.path(controlFile))
	steps := []func() error{
		func() error { return n.Lose("0") },
		func() error { return n.Break("1") },
		func() error { return n.Hang("nvmlDeviceGetName", "2", 1500*time.Millisecond) },
		func() error { return n.Hang("nvmlDeviceGetName", "2", Forever) },
		func() error { return n.Hang("*", "", time.Second) },
		func() error { return n.FailCall("nvmlDeviceGetUUID", "2", 999) },
		func() error { return n.Recovery("3", 7) },
		func() error { return n.Remap("4", "failed") },
		func() error { return n.Mismatch(true) },
	}
	for _, step := range steps {
		must(t, step())
	}
	for _, w := range []struct {
		gpu        int
		key, value string
	}{
		{0, "state", "lost"}, {0, "after-reboot", "present"},
		{1, "state", "lost"}, {1, "after-reboot", "gone"},
		{2, "hang.nvmlDeviceGetName", "forever"}, {nodeSection, "hang.*", "1"},
		{3, "recovery", "7"}, {4, "remap", "failed"}, {nodeSection, "mismatch", "on"},
	} {
		if got := value(t, n, w.gpu, w.key); got != w.value {
			t.Errorf("GPU %d: %s = %q, want %q", w.gpu, w.key, got, w.value)
		}
	}
	for i := range 5 {
		must(t, n.Restore(fmt.Sprint(i)))
	}
	must(t, n.Hang("*", "", 0))
	must(t, n.Mismatch(false))
	if after := read(t, n.path(controlFile)); after != before {
		t.Errorf("all undone, and yet the file differs:\n%s", after)
	}
}

func TestRefused(t *testing.T) {
	n := newNode(t)
	for what, err := range map[string]error{
		"unknown GPU":    n.Lose("99"),
		"bad call":       n.Hang("open", "0", time.Second),
		"negative hang":  n.Hang("*", "0", -2),
		"negative code":  n.FailCall("*", "", -1),
		"recovery 8":     n.Recovery("0", 8),
		"remap":          n.Remap("0", "soon"),
		"empty kmsg":     n.Kmsg(""),
		"second New":     second(n),
		"unknown sample": unknown(t),
	} {
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func second(n *Node) error {
	_, err := New(n.dir, "hgx-h100")
	return err
}

func unknown(t *testing.T) error {
	_, err := New(t.TempDir(), "abacus")
	if err != nil && !strings.Contains(err.Error(), "hgx-h100") {
		t.Errorf("error %q does not list the profiles", err)
	}
	return err
}

func TestReboot(t *testing.T) {
	n := newNode(t)
	must(t, n.Lose("0"))
	must(t, n.Break("1"))
	must(t, n.Remap("2", "pending"))
	must(t, n.Remap("3", "failed"))
	must(t, n.Recovery("4", 2))
	must(t, n.Hang("*", "5", Forever))
	must(t, n.Kmsg("one"))
	boot := read(t, n.BootIDPath())
	must(t, n.Reboot())

	gpus, err := n.GPUs()
	must(t, err)
	if gpus[0].State != "present" || gpus[1].State != "gone" {
		t.Errorf("states %s, %s, want present, gone", gpus[0].State, gpus[1].State)
	}
	if a, b, c := value(t, n, 2, "remap"), value(t, n, 3, "remap"), value(t, n, 4, "recovery"); a != "none" || b != "failed" || c != "0" {
		t.Errorf("remap %s, %s, recovery %s, want none, failed, 0", a, b, c)
	}
	if h := value(t, n, 5, "hang.*"); h != "" {
		t.Errorf("hang %s outlived the reboot", h)
	}
	if again := read(t, n.BootIDPath()); again == boot || !regexp.MustCompile(`^[0-9a-f-]{36}\n$`).MatchString(again) {
		t.Errorf("boot id %q after %q", again, boot)
	}
	must(t, n.Kmsg("two"))
	if log := read(t, n.KmsgPath()); !strings.HasPrefix(log, "4,0,") {
		t.Errorf("kernel log %q, want it to begin anew", log)
	}
}

func TestKmsg(t *testing.T) {
	n := newNode(t)
	must(t, n.Kmsg("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."))
	must(t, n.Kmsg("a\nb\t\\ é"))
	must(t, n.Kmsg(strings.Repeat("x", 900)))
	lines := strings.Split(read(t, n.KmsgPath()), "\n")
	want := []string{
		`^4,0,\d+,c;NVRM: Xid \(PCI:0000:1b:00\): 79, GPU has fallen off the bus\.$`,
		`^4,1,\d+,c;a\\x0ab\\x09\\x5c \\xc3\\xa9$`,
		`^4,2,\d+,c;x{900}$`,
		`^$`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i, line := range lines {
		if !regexp.MustCompile(want[i]).MatchString(line) {
			t.Errorf("line %d: %q, want %s", i, line, want[i])
		}
	}
}

func TestWritersAtOnce(t *testing.T) {
	n := newNode(t)
	const each = 20
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			other, err := Open(n.dir)
			if err != nil {
				t.Error(err)
				return
			}
			for range each {
				if err := other.Kmsg("x"); err != nil {
					t.Error(err)
				}
			}
			if err := other.Lose(fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSpace(read(t, n.KmsgPath())), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, fmt.Sprintf("4,%d,", i)) {
			t.Fatalf("line %d: %q", i, line)
		}
	}
	gpus, err := n.GPUs()
	must(t, err)
	for i := range 4 {
		if gpus[i].State != "lost" {
			t.Errorf("GPU %d: a writer's change was lost", i)
		}
	}
	if len(lines) != 4*each {
		t.Errorf("%d records, want %d", len(lines), 4*each)
	}
}

// The daemon locks the folder of its state, which may be the node's own.
func TestALockedFolderStopsNobody(t *testing.T) {
	n := newNode(t)
	dir, err := os.Open(n.dir)
	must(t, err)
	defer dir.Close()
	must(t, syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	must(t, n.Kmsg("is not kept waiting"))
}
