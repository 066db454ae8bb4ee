package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gpuhealthd/gpuhealthd/internal/config"
)

// document is one of the repository's texts.
type document struct {
	path  string // relative to the repository's root
	text  string
	code  []string // lines of fenced blocks, and spans of inline code
	yaml  []string // fenced blocks of that language
	heads []string // anchors of its headings, as GitHub makes them
}

var (
	fence   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	span    = regexp.MustCompile("`([^`\n]+)`|``([^\n]+?)``")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// documents reads README.md, its neighbours and docs.
func documents(t *testing.T) (found []document) {
	t.Helper()
	for _, pattern := range []string{"../*.md", "../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			found = append(found, readDocument(t, path))
		}
	}
	if len(found) < 2 {
		t.Fatalf("found %d documents", len(found))
	}
	return found
}

func readDocument(t *testing.T, path string) document {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := document{path: strings.TrimPrefix(path, "../"), text: string(content)}
	for _, block := range fence.FindAllStringSubmatch(d.text, -1) {
		d.code = append(d.code, strings.Split(block[2], "\n")...)
		if block[1] == "yaml" {
			d.yaml = append(d.yaml, block[2])
		}
	}
	prose := fence.ReplaceAllString(d.text, "")
	for _, s := range span.FindAllStringSubmatch(prose, -1) {
		d.code = append(d.code, s[1]+s[2])
	}
	for _, h := range heading.FindAllStringSubmatch(prose, -1) {
		slug := notSlug.ReplaceAllString(strings.ToLower(h[1]), "")
		d.heads = append(d.heads, strings.ReplaceAll(slug, " ", "-"))
	}
	return d
}

func TestLinksResolve(t *testing.T) {
	documents := documents(t)
	for _, d := range documents {
		for _, found := range link.FindAllStringSubmatch(d.text, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			at := d.path
			if target != "" {
				at = filepath.Join(filepath.Dir(d.path), target)
			}
			if _, err := os.Stat(filepath.Join("..", at)); err != nil {
				t.Errorf("%s links to %s, which is not there", d.path, found[1])
				continue
			}
			i := slices.IndexFunc(documents, func(other document) bool { return other.path == at })
			if anchor != "" && (i < 0 || !slices.Contains(documents[i].heads, anchor)) {
				t.Errorf("%s links to %s, which has no such heading", d.path, found[1])
			}
		}
	}
}

// makeCall is a call of make in code, with one or more targets.
var makeCall = regexp.MustCompile(`\bmake((?: [a-z]+)+)`)

func TestMakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents(t) {
		for _, line := range d.code {
			for _, call := range makeCall.FindAllStringSubmatch(line, -1) {
				for _, target := range strings.Fields(call[1]) {
					if !strings.Contains(string(makefile), "\n"+target+": ") {
						t.Errorf("%s: %q: the Makefile has no target %s", d.path, line, target)
					}
				}
			}
		}
	}
}

// A manifest must be what the API takes, strictly; other YAML is configuration.
func TestYAMLInDocumentsIsValid(t *testing.T) {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, d := range documents(t) {
		for n, block := range d.yaml {
			var err error
			if strings.HasPrefix(block, "apiVersion:") {
				_, _, err = decoder.Decode([]byte(block), nil, nil)
			} else {
				_, err = config.Parse("configuration", []byte(block))
			}
			if err != nil {
				t.Errorf("%s: YAML block %d: %v", d.path, n+1, err)
			}
		}
	}
}
