package probe

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list has every function that the code names, but for those without which
// there is nothing to open, and the one that stands in for another.
func TestUsedIsWhole(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	name := regexp.MustCompile(`"(nvml[A-Z]\w*)"`)
	var want []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || slices.Contains([]string{"open.go", "close.go", "symbols.go"}, file) {
			continue
		}
		text, err := os.ReadFile(file)
		must(t, err)
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			want = append(want, found[1])
		}
	}
	want = slices.DeleteFunc(want, func(s string) bool { return s == "nvmlDeviceGetCurrentClocksThrottleReasons" })
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(used, want) {
		t.Errorf("used is %q, want %q", used, want)
	}
}
