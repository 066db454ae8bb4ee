package config

import (
	"fmt"
	"slices"
	"strings"
)

// Engine is a serving engine that the site names.
type Engine struct {
	// Name tells it from others.
	Name string `yaml:"name"`
	// URLs are those of its metrics; no other engine has them.
	URLs []string `yaml:"urls"`
	// Dialect is the name of its kind; empty is found out.
	Dialect string `yaml:"dialect"`
	// GPUs are UUIDs; with none the GPUs are those that Process has open.
	GPUs []string `yaml:"gpus"`
	// Process is a process by the kernel's name of 15 bytes, which no other engine has.
	Process string `yaml:"process"`
	// Canary is the URL of the server of its OpenAI API, or none; empty is that of
	// URLs, where the engine's kind has it there. Model is what a canary asks for; empty
	// is the first that it lists.
	Canary string `yaml:"canary"`
	Model  string `yaml:"model"`
}

// NoCanary is the Canary of an engine that none asks.
const NoCanary = "none"

// maxComm is how much of a process's name the kernel keeps, in bytes.
const maxComm = 15

// engines are those before one of the list, by what may stand there once.
type engines struct{ names, urls, processes map[string]string }

// checkEngines finds what is wrong with the engines of a site.
func checkEngines(all []Engine) (found []finding) {
	before := engines{map[string]string{}, map[string]string{}, map[string]string{}}
	for n, e := range all {
		found = append(found, before.check(fmt.Sprintf("serving.engines[%d].", n), e)...)
	}
	return found
}

// check finds what is wrong with one, beside those before it.
func (b engines) check(field string, e Engine) []finding {
	_, twice := b.names[e.Name]
	found := []finding{
		{field + "name", e.Name == "" || strings.ContainsAny(e.Name, "/ \t\n") || twice, fmt.Sprintf("%q is empty, has a slash or a space, or is there twice", e.Name)},
		{field + "urls", len(e.URLs) == 0 || !allURLs(e.URLs), fmt.Sprintf("%q are not URLs of http or https", e.URLs)},
		{field + "canary", e.Canary != "" && e.Canary != NoCanary && !isURL(e.Canary), fmt.Sprintf("%q is not none, nor a URL of http or https", e.Canary)},
		{field + "gpus", (len(e.GPUs) == 0) == (e.Process == ""), "one of gpus and process has to say which GPUs it has"},
		{field + "process", len(e.Process) > maxComm, fmt.Sprintf("%q is longer than the %d bytes of a name that the kernel keeps: %q", e.Process, maxComm, cut(e.Process, maxComm))},
		{field + "process", e.Process != "" && b.processes[e.Process] != "", fmt.Sprintf("%q is that of the engine %s too: which GPUs are whose cannot be told; name them in gpus", e.Process, b.processes[e.Process])},
	}
	for _, url := range e.URLs {
		found = append(found, finding{field + "urls", b.urls[url] != "", fmt.Sprintf("%q is there before, of the engine %s", url, b.urls[url])})
		b.urls[url] = e.Name
	}
	for _, gpu := range e.GPUs {
		found = append(found, finding{field + "gpus", !isUUID(gpu), fmt.Sprintf("%q is not the UUID of a GPU or MIG device, such as nvidia-smi -L lists: GPU-… or MIG-…", gpu)})
	}
	b.names[e.Name], b.processes[e.Process] = e.Name, e.Name
	return found
}

func allURLs(urls []string) bool {
	return !slices.ContainsFunc(urls, func(u string) bool { return !isURL(u) })
}

func isUUID(text string) bool {
	return strings.HasPrefix(text, "GPU-") || strings.HasPrefix(text, "MIG-")
}

func cut(text string, limit int) string { return text[:min(len(text), limit)] }
