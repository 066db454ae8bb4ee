package config

import (
	"path/filepath"
	"strings"
)

// File is one that the agent reads or runs, and the setting that names it.
type File struct{ Setting, Path string }

// homes are what the unit of the packages hides from the agent, by ProtectHome=yes.
var homes = []string{"/root", "/home", "/run/user"}

// InHomes gives the files in somebody's home: the unit of the packages does not see them.
func (c Config) InHomes() (all []File) {
	files := []File{
		{"kubernetes.kubeconfig", c.Kubernetes.Kubeconfig},
		{"http.webConfig", c.HTTP.WebConfig},
		{"repair.reset.resource", c.Repair.Reset.Resource},
		{"repair.reboot.resource", c.Repair.Reboot.Resource},
		{"serving.dialects", c.Serving.Dialects},
		{"state.path", c.State.Path},
	}
	for _, p := range c.Programs() {
		files = append(files, File{p.Setting, p.Name})
	}
	for _, f := range files {
		if inHomes(f.Path) {
			all = append(all, f)
		}
	}
	return all
}

func inHomes(path string) bool {
	path = filepath.Clean(path)
	for _, home := range homes {
		if path == home || strings.HasPrefix(path, home+"/") {
			return true
		}
	}
	return false
}
