// Command render prints what `helm template NAME CHART --values FILE` prints, NAME being
// gpuhealthd: Helm's own loader, schema check and engine. The whole of Helm takes minutes
// to compile, for what tests do not call.
//
//	render CHART [VALUES]
//
// Of a chart or of values that Helm refuses it says what Helm says, and ends with 1.
package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: render CHART [VALUES]")
		os.Exit(2)
	}
	text, err := render(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// render gives the manifest of a chart with the values of the files.
func render(folder string, files []string) (string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return "", err
	}
	if err := chart.Validate(); err != nil {
		return "", err
	}
	given := common.Values{}
	for _, file := range files {
		if given, err = common.ReadValuesFile(file); err != nil {
			return "", err
		}
	}
	release := common.ReleaseOptions{Name: "gpuhealthd", Namespace: "default", IsInstall: true, Revision: 1}
	values, err := util.ToRenderValues(chart, given, release, nil)
	if err != nil {
		return "", err
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return "", err
	}
	return manifest(rendered), nil
}

// manifest joins what the templates gave; partials and notes are no objects.
func manifest(rendered map[string]string) string {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		base := path.Base(name)
		if strings.HasPrefix(base, "_") || base == "NOTES.txt" || strings.TrimSpace(rendered[name]) == "" {
			continue
		}
		fmt.Fprintf(&all, "---\n# Source: %s\n%s\n", name, strings.TrimSpace(rendered[name]))
	}
	return all.String()
}
