// Package test holds what is tested from outside: the daemon end to end on real
// parts, and the repository as a whole.
package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gpuhealthd/gpuhealthd"

// everything stands for every package of the module.
const everything = "..."

// rule says what the packages in and below a folder may import of the module.
// The rule of the longest folder that fits a package is the one that counts.
type rule struct {
	folder string
	may    []string // folders, with all below them
	pure   bool     // no effects, no clock, only the standard library, no cgo
}

// rules are the one way through the house: sources, judge, plan, effects. Data
// never flows back.
var rules = []rule{
	{folder: "cmd", may: []string{everything}},
	{folder: "internal/agent", may: []string{everything}},
	{folder: "internal/config", may: []string{"collector/canary", "collector/serving", "diag", "collector/kernlog", "collector/pci", "fault", "nvlink", "remediate"}},
	{folder: "internal/repair", may: []string{"diag", "collector/nvml", "fault", "internal/agent", "internal/config", "remediate"}},
	{folder: "internal/imex", may: []string{"fault", "nvlink", "remediate/command", "remediate/holders", "remediate/host"}},
	{folder: "internal/replay", may: []string{"xidparse", "ecc", "nvlink", "fault", "remediate", "collector/kernlog"}},
	{folder: "internal/check", may: []string{"fault", "remediate", "collector/inventory", "collector/kernlog", "collector/nvml", "internal/agent", "internal/replay"}},
	{folder: "internal/explain", may: []string{"xidparse", "nvlink", "fault", "internal/replay"}},
	{folder: "internal/evidence", may: []string{"fault", "remediate", "collector/kernlog", "collector/nvml"}},
	{folder: "internal/httpd", may: []string{"internal/agent", "internal/evidence", "nvlink", "remediate"}},
	{folder: "internal/serving", may: []string{"collector/canary", "collector/serving", "remediate", "serving"}},
	{folder: "internal/topology", may: []string{"nvlink"}},
	{folder: "internal/demo", may: []string{"internal/config", "internal/replay", "sim"}},

	{folder: "xidparse", may: []string{"xidparse"}, pure: true},
	{folder: "ecc", pure: true},
	{folder: "nvlink", pure: true},
	{folder: "serving", pure: true},
	{folder: "fault", may: []string{"xidparse", "ecc", "nvlink", "serving"}, pure: true},

	{folder: "collector", may: []string{"collector", "fault", "xidparse", "ecc", "nvlink", "serving"}},

	{folder: "remediate", may: []string{"fault", "remediate/guard"}, pure: true},
	{folder: "remediate/guard", may: []string{"fault"}, pure: true},
	{folder: "remediate/store", may: []string{"fault", "remediate"}},
	{folder: "remediate/apiserver", may: []string{"remediate"}},
	{folder: "remediate/fleet", may: []string{"fault", "remediate", "remediate/apiserver", "remediate/prometheus"}},
	{folder: "remediate/prometheus"},
	{folder: "remediate/dra", may: []string{"remediate", "remediate/apiserver"}},
	{folder: "remediate/kube", may: []string{"fault", "remediate"}},
	{folder: "remediate/logact", may: []string{"fault", "remediate"}},
	{folder: "remediate/slurm", may: []string{"fault", "remediate", "remediate/command"}},
	{folder: "remediate/execact", may: []string{"remediate", "remediate/command"}},
	{folder: "remediate/pods", may: []string{"fault", "remediate"}},
	{folder: "remediate/holders", may: []string{"fault", "remediate"}},
	{folder: "remediate/command", may: []string{"fault", "remediate"}},
	{folder: "remediate/host", may: []string{"fault", "remediate", "remediate/command"}},
	{folder: "remediate/operands", may: []string{"remediate/apiserver"}},
	{folder: "remediate/request", may: []string{"fault", "remediate", "remediate/apiserver"}},
	{folder: "diag", may: []string{"fault"}, pure: true},
	{folder: "diag/dcgmi", may: []string{"diag"}},

	{folder: "sim", may: []string{"sim"}},
	{folder: "tools", may: []string{"xidparse", "nvlink", "fault", "remediate"}},
	{folder: "test", may: []string{"test", "sim"}},
	{folder: "test/journald"},
	{folder: "test/slurmtest", may: []string{"test/process"}},
	{folder: "test/soak", may: []string{"test", "sim", "internal/config"}},
	{folder: "test/daemontest", may: []string{"test", "sim", "collector/kernlog", "internal/config", "internal/agent"}},
}

// owners are the folders that alone may import what gives a power.
var owners = []struct {
	imports string // an import path, with all below it
	folders []string
}{
	{"github.com/NVIDIA/go-nvml", []string{"collector/nvml/probe"}},
	{"github.com/NVIDIA/go-dcgm", []string{"collector/dcgm/probe"}},
	{"github.com/coreos/go-systemd/v22/sdjournal", []string{"collector/journal/probe"}},
	{"k8s.io", []string{"cmd", "internal/agent", "internal/repair", "internal/serving", "remediate/apiserver", "remediate/dra", "remediate/fleet", "remediate/kube", "remediate/operands", "remediate/pods", "remediate/request", "test"}},
	{"go.etcd.io/bbolt", []string{"remediate/store"}},
	{"github.com/spf13/cobra", []string{"cmd"}},
	{"os/exec", []string{"cmd", "collector/child", "remediate/command", "diag/dcgmi", "internal/demo", "test"}},
	{"C", []string{"collector"}},
}

// impure are the parts of the standard library that act, or know the time of day.
var impure = []string{"os", "net", "io/fs", "io/ioutil", "syscall", "log", "database", "plugin", "runtime/cgo", "C"}

// goPackage is the part of go list's answer that is used.
type goPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
}

func (p goPackage) folder() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

func (p goPackage) files() (paths []string) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		paths = append(paths, filepath.Join(p.Dir, name))
	}
	return paths
}

// packages are those of the module that consist of more than tests.
func packages(t *testing.T) (found []goPackage) {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,CgoFiles,Imports", module+"/...")
	list.Stderr = os.Stderr
	answer, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if len(p.files()) > 0 {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatal("go list found no package")
	}
	return found
}

// within tells whether an import path or folder is parent, or lies below it.
func within(name, parent string) bool {
	return parent == everything || name == parent || strings.HasPrefix(name, parent+"/")
}

func withinAny(name string, parents []string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool { return within(name, parent) })
}

// ruleFor returns the rule that counts for a folder.
func ruleFor(folder string) (r rule, ok bool) {
	for ; folder != "."; folder = path.Dir(folder) {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.folder == folder })
		if i >= 0 {
			return rules[i], true
		}
	}
	return rule{}, false
}

func TestImportsFollowTheDesign(t *testing.T) {
	for _, p := range packages(t) {
		r, ok := ruleFor(p.folder())
		if !ok {
			t.Errorf("%s: no rule says what it may import", p.folder())
			continue
		}
		for _, imported := range p.Imports {
			folder, ours := strings.CutPrefix(imported, module+"/")
			if ours && !withinAny(folder, r.may) {
				t.Errorf("%s imports %s; it may import %v", p.folder(), folder, r.may)
			}
			if r.pure && !ours && (strings.Contains(imported, ".") || withinAny(imported, impure)) {
				t.Errorf("%s imports %s; it is pure and may not", p.folder(), imported)
			}
			for _, owner := range owners {
				if within(imported, owner.imports) && !withinAny(p.folder(), owner.folders) {
					t.Errorf("%s imports %s; only %v may", p.folder(), imported, owner.folders)
				}
			}
		}
	}
}
