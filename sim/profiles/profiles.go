// Package profiles holds the machines that can be simulated: each file is the
// control file of a healthy node, and its name without ".conf" is the profile's.
package profiles

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.conf
var files embed.FS

// Read gives a profile's control file. The error for an unknown name lists the
// known ones.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".conf")
	if err != nil {
		return nil, fmt.Errorf("profile %q: not one of %s", name, strings.Join(names(), ", "))
	}
	return text, nil
}

func names() []string {
	entries, _ := files.ReadDir(".") // an embedded folder is always readable
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".conf"))
	}
	return list
}
