package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/gpuhealthd/gpuhealthd/remediate"
	"github.com/gpuhealthd/gpuhealthd/test/daemontest"
)

// TestADamagedStoreIsLeftAlone: with a memory that cannot be used the daemon
// contains all the same, asks for nothing destructive, and changes nothing in
// the file.
func TestADamagedStoreIsLeftAlone(t *testing.T) {
	for _, damage := range []struct {
		name   string
		do     func(t *testing.T, path string)
		remedy string
	}{
		{"cut short", func(t *testing.T, path string) { must(t, os.Truncate(path, 9000)) }, "move it aside and restart"},
		{"empty", func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }, "move it aside and restart"},
		{"of a newer version", writeNewer, "install that version again"},
	} {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			d := programs.New(t)
			d.StartReady()
			d.Stop()
			path := d.Config.State.Path
			damage.do(t, path)
			before := read(t, path)
			d.Start()
			containsWithoutAStore(t, d, damage.remedy)
			d.Stop()
			if read(t, path) != before {
				t.Error("the file was written to")
			}
		})
	}
}

// TestADiskThatTakesNothing mounts, where this machine allows that, a disk that
// is full or read only for the daemon alone.
func TestADiskThatTakesNothing(t *testing.T) {
	for _, disk := range []struct{ name, mount, remedy string }{
		{"read only", `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"`, "make its folder and file writable and restart"},
		{"full", `mount -t tmpfs -o size=16k none "$0" && ! head -c 1M /dev/zero 2>/dev/null >"$0/ballast"`, "free space on its file system"},
	} {
		t.Run(disk.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			inPrivate := []string{"unshare", "--mount", "sh", "-c"}
			requireMounts(t, append(inPrivate, disk.mount, folder))
			d := programs.New(t)
			d.Config.State.Path = filepath.Join(folder, "state.db")
			d.Wrap = append(inPrivate, disk.mount+` && exec "$@"`, folder)
			d.Start()
			containsWithoutAStore(t, d, disk.remedy)
		})
	}
}

// containsWithoutAStore checks that a fault is contained, that nothing
// destructive is asked for, and that everybody hears why.
func containsWithoutAStore(t *testing.T, d *daemontest.Daemon, remedy string) {
	t.Helper()
	path := d.Config.State.Path
	d.AwaitNotReady("store: ", path, remedy)
	d.AwaitLog("the store cannot be used", path, remedy)
	d.AwaitLog("would tell Warning event StoreBroken: ", path, remedy)
	if up := d.Metric("store_up"); up != 0 {
		t.Errorf("metric store_up is %v", up)
	}
	if text := d.StatusText(); !strings.Contains(text, path) || !strings.Contains(text, remedy) {
		t.Errorf("gpuhealthd status says:\n%s", text)
	}

	d.Say(daemontest.XID(d.GPU(2).PCI, daemontest.Uncontained))
	d.AwaitLog("would cordon the node")
	d.AwaitMetric(1, "steps", `step="reset"`, `status="held"`)
	for _, step := range d.Status().Incidents[0].Steps {
		if step.Kind != remediate.StepCordon && step.Status != remediate.Held {
			t.Errorf("step %s is %s", step.Kind, step.Status)
		}
	}
	if strings.Contains(d.Log(), "requested") {
		t.Error("something destructive was asked for")
	}
}

func TestABrokenStoreIsToldOnTheNode(t *testing.T) {
	t.Parallel()
	h := onCluster(t, shared.Cluster(t))
	h.inService()
	h.Stop()
	must(t, os.Truncate(h.Config.State.Path, 9000))
	h.Start()
	if e := h.awaitEvent("StoreBroken"); e.Type != "Warning" || !strings.Contains(e.Note, h.Config.State.Path) {
		t.Errorf("event %s: %s", e.Type, e.Note)
	}
	h.lose(5)
	h.awaitContained()
}

// writeNewer gives the store the format of a version to come.
func writeNewer(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("format")).Put([]byte("version"), []byte("99"))
	}))
	must(t, db.Close())
}
