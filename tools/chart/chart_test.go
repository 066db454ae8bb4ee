package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheChartIsFresh(t *testing.T) {
	const root = "../.."
	files, err := files(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, folder, path))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s/%s is stale: run go generate ./tools/chart", folder, path)
		}
	}
}

// TestWhatIsNotThereIsTold: a manifest that has changed under the generator gives no
// template that lacks a value.
func TestWhatIsNotThereIsTold(t *testing.T) {
	const text = "# head\napiVersion: v1\nkind: A\nname: b\nname: c\n"
	for name, c := range map[string]struct {
		text string
		do   func(*manifests)
		want string
	}{
		"nothing to replace": {text, func(m *manifests) { m.template("a.yaml", "", change{"x", "y"}) }, `a.yaml: has 0 times "x"`},
		"two of them":        {text, func(m *manifests) { m.template("a.yaml", "", change{"name", "y"}) }, `a.yaml: has 2 times "name"`},
		"another template":   {text + "{{", func(m *manifests) { m.template("a.yaml", "") }, "a.yaml: has no object, or {{"},
		"no object":          {"# head\n", func(m *manifests) { m.template("a.yaml", "") }, "a.yaml: has no object, or {{"},
		"no beginning":       {text, func(m *manifests) { m.between("a.yaml", "x", "") }, `a.yaml: has no text between "x" and ""`},
		"two beginnings":     {text, func(m *manifests) { m.between("a.yaml", "name", "") }, `a.yaml: has no text between "name" and ""`},
		"no end":             {text, func(m *manifests) { m.between("a.yaml", "kind", "x") }, `a.yaml: has no text between "kind" and "x"`},
		"no file":            {text, func(m *manifests) { m.read("b.yaml") }, "b.yaml: no such file"},
	} {
		m := &manifests{folder: t.TempDir()}
		if err := os.WriteFile(filepath.Join(m.folder, "a.yaml"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.do(m)
		if m.err == nil || !strings.Contains(m.err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, m.err, c.want)
		}
	}
}
