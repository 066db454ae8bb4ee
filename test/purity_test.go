package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// purePackages are the judge, the plan and what they are made of.
func purePackages(t *testing.T) (pure []goPackage) {
	t.Helper()
	for _, p := range packages(t) {
		if r, _ := ruleFor(p.folder()); r.pure {
			pure = append(pure, p)
		}
	}
	if len(pure) == 0 {
		t.Fatal("no pure package")
	}
	return pure
}

func TestPurePackagesBuildWithoutCgo(t *testing.T) {
	build := exec.Command("go", "build")
	for _, p := range purePackages(t) {
		build.Args = append(build.Args, p.ImportPath)
	}
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Errorf("CGO_ENABLED=0 %v: %v\n%s", build.Args, err, output)
	}
}

// clock are the functions of package time that read it or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// Time is an argument of the judge and the plan, never asked for.
func TestPurePackagesReadNoClock(t *testing.T) {
	for _, p := range purePackages(t) {
		for _, path := range p.files() {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(clock, selector.Sel.Name) {
					return true
				}
				if name, ok := selector.X.(*ast.Ident); ok && name.Name == "time" {
					t.Errorf("%s: time.%s", files.Position(selector.Pos()), selector.Sel.Name)
				}
				return true
			})
		}
	}
}
