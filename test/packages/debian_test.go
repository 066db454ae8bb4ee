package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// debian is a small Debian with systemd, of this machine's own release, in a folder.
type debian struct {
	t    testing.TB
	root string
}

// codename is how os-release tells the release.
var codename = regexp.MustCompile(`(?m)^VERSION_CODENAME=(\w+)$`)

// newDebian unpacks one that nobody else uses.
func newDebian(t testing.TB) debian {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can install a package")
	}
	needs(t, "mmdebstrap", "mmdebstrap")
	release := codename.FindStringSubmatch(read(t, "/etc/os-release"))
	if release == nil {
		t.Skip("/etc/os-release names no VERSION_CODENAME: this is no Debian")
	}
	d := debian{t: t, root: filepath.Join(t.TempDir(), "root")}
	must(t, os.Mkdir(d.root, 0o755))
	run(t, "tar", "-C", d.root, "-xf", archive(t, release[1]))
	must(t, os.Remove(filepath.Join(d.root, "etc/machine-id"))) // each is a machine of its own
	return d
}

// archive is that system as it is kept in the cache, made where it is missing.
func archive(t testing.TB, release string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	path := filepath.Join(cache, "gpuhealthd", "debian-"+release+".tar")
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	lock, err := os.Create(path + ".lock")
	must(t, err)
	defer lock.Close()
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)) // another run may be making it
	if _, err := os.Stat(path); err != nil {
		t.Logf("making %s, once; takes about 20 s", path)
		run(t, "mmdebstrap", "--quiet", "--variant=minbase", "--include=systemd,dbus", release, path+".new.tar")
		must(t, os.Rename(path+".new.tar", path))
	}
	return path
}

// path is a file of the system, as this machine sees it.
func (d debian) path(name string) string { return filepath.Join(d.root, name) }

func (d debian) exists(name string) bool {
	_, err := os.Lstat(d.path(name))
	return err == nil
}

// chroot is what a program prints in the system while it is not booted.
func (d debian) chroot(args ...string) string {
	d.t.Helper()
	return run(d.t, "chroot", append([]string{d.root, "env", "DEBIAN_FRONTEND=noninteractive"}, args...)...)
}

// says is what a program prints that may end in any way.
func (d debian) says(args ...string) string {
	out, _ := exec.Command("chroot", append([]string{d.root}, args...)...).Output() // its words count
	return string(out)
}

// take copies a package into the system and gives its path there.
func (d debian) take(deb string) string {
	d.t.Helper()
	run(d.t, "cp", deb, d.path("root"))
	return filepath.Join("/root", filepath.Base(deb))
}
