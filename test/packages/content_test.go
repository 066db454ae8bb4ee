package packages

import (
	"debug/elf"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLintianFindsNoError in the deb. Its warnings are a state folder and a configuration
// that only root may read, and that Go links at a fixed address.
func TestLintianFindsNoError(t *testing.T) {
	t.Parallel()
	needs(t, "lintian", "lintian")
	t.Log(run(t, "lintian", "--allow-root", "--fail-on", "error", built.get(t, ".deb")))
}

// shared is what both packages have, with its mode.
var shared = map[string]string{
	"/usr/bin/gpuhealthd":                                    "-rwxr-xr-x",
	"/etc/gpuhealthd/config.yaml":                            "-rw-------",
	"/var/lib/gpuhealthd":                                    "drwx------",
	"/usr/share/gpuhealthd/gpuhealthd.service.d/repair.conf": "-rw-r--r--",
	"/usr/share/gpuhealthd/slurm/healthcheck.sh":             "-rwxr-xr-x",
	"/usr/share/doc/gpuhealthd/docs/faults.md":               "-rw-r--r--",
	"/usr/share/doc/gpuhealthd/deploy/driver-root.yaml":      "-rw-r--r--",
	"/usr/share/doc/gpuhealthd/deploy/chart/values.yaml":     "-rw-r--r--",
	"/usr/share/doc/gpuhealthd/deploy/dashboard.json":        "-rw-r--r--",
	"/usr/share/man/man8/gpuhealthd-check.8.gz":              "-rw-r--r--",
	"/usr/share/bash-completion/completions/gpuhealthd":      "-rw-r--r--",
	"/usr/share/fish/vendor_completions.d/gpuhealthd.fish":   "-rw-r--r--",
}

// has checks a listing of modes and paths for what is in both packages, the unit, and
// a page of the manual for each that the first one names.
func has(t *testing.T, listing, unitFolder string) {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(listing) {
		f := strings.Fields(line)
		found[path.Clean("/"+strings.TrimPrefix(f[len(f)-1], "."))] = f[0]
	}
	for name, mode := range shared {
		if found[name] != mode {
			t.Errorf("%s is %q, want %s", name, found[name], mode)
		}
	}
	if found[unitFolder+"/gpuhealthd.service"] != "-rw-r--r--" {
		t.Errorf("no unit in %s", unitFolder)
	}
}

func TestTheDebHasEverything(t *testing.T) {
	t.Parallel()
	has(t, run(t, "dpkg-deb", "-c", built.get(t, ".deb")), "/lib/systemd/system")
}

func TestTheRPMHasEverything(t *testing.T) {
	t.Parallel()
	needs(t, "rpm", "rpm")
	query := func(args ...string) string {
		return run(t, "rpm", append(append([]string{"-qp"}, args...), built.get(t, ".rpm"))...)
	}
	has(t, query("--queryformat", `[%{FILEMODES:perms} %{FILENAMES}\n]`), "/usr/lib/systemd/system")
	if got := query("--configfiles"); got != "/"+config {
		t.Errorf("configuration files: %s", got)
	}
	if got := query("--queryformat", "%{VERSION} %{LICENSE}"); got != version+" Apache-2.0" {
		t.Errorf("version and licence: %s", got)
	}
	// As rpm runs them; a look is all that can be had on a Debian.
	for _, script := range []string{"post", "preun", "postun"} {
		run(t, "sh", "-n", "../../packaging/rpm/"+script)
		if text := read(t, "../../packaging/rpm/"+script); !strings.Contains(query("--scripts"), strings.TrimSpace(text)) {
			t.Errorf("the package does not run %s", script)
		}
	}
}

// glibc is a version of the C library's symbols.
var glibc = regexp.MustCompile(`^GLIBC_2\.(\d+)$`)

// TestThePackagesWantTheirLibc: no symbol of the binary is of a newer libc than the
// packages ask for.
func TestThePackagesWantTheirLibc(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(filepath.Dir(built.get(t, ".deb")), run(t, "go", "env", "GOHOSTARCH"), "gpuhealthd")
	file, err := elf.Open(binary)
	must(t, err)
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	must(t, err)
	newest := 0
	for _, s := range symbols {
		if v := glibc.FindStringSubmatch(s.Version); v != nil {
			minor, err := strconv.Atoi(v[1])
			must(t, err)
			newest = max(newest, minor)
		}
	}
	want := regexp.MustCompile(`2\.(\d+)`).FindStringSubmatch(run(t, "dpkg-deb", "-f", built.get(t, ".deb"), "Depends"))
	if minor, err := strconv.Atoi(want[1]); err != nil || newest == 0 || newest > minor {
		t.Errorf("the binary wants GLIBC_2.%d, the package 2.%s", newest, want[1])
	}
}

// BenchmarkPackages is how large they are.
func BenchmarkPackages(b *testing.B) {
	const mebibyte = 1 << 20
	for b.Loop() {
		for _, ending := range []string{".deb", ".rpm"} {
			file, err := os.Stat(built.get(b, ending))
			must(b, err)
			b.ReportMetric(float64(file.Size())/mebibyte, ending[1:]+"-MiB")
		}
	}
	b.ReportMetric(0, "ns/op")
}
