package pods

import (
	"context"
	"slices"
	"strings"
)

// Workloads names what was given GPUs of the node, as NAMESPACE/NAME, sorted, each
// once: a pod by its name without what its controller appended, so that the pods of
// one job on many nodes are one workload. It asks the kubelet alone, and needs no
// right on the API server.
func (p *Pods) Workloads(ctx context.Context) ([]string, error) {
	grants, err := p.grants(ctx, nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(grants))
	for _, g := range grants {
		names = append(names, g.pod.Namespace+"/"+stem(g.pod.Name))
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// stem is a pod's name without the numbers and the generated parts at its end:
// train of train-0-x7k2p (an indexed Job), of train-0-3 (a LeaderWorkerSet) and of
// train-5d8f7c9b6-x7k2p (a Deployment).
func stem(name string) string {
	for {
		i := strings.LastIndexByte(name, '-')
		if i <= 0 || !appended(name[i+1:]) {
			return name
		}
		name = name[:i]
	}
}

// The lengths of what controllers generate: five letters behind a name, and up to
// ten for the hash of a pod's template. They are made of these alone, which spell
// no word.
const (
	suffixLength        = 5
	hashLeast, hashMost = 8, 10
	generatedLetters    = "bcdfghjklmnpqrstvwxz2456789"
)

func appended(part string) bool {
	if part == "" {
		return false
	}
	if strings.Trim(part, "0123456789") == "" {
		return true
	}
	n := len(part)
	return (n == suffixLength || n >= hashLeast && n <= hashMost) && strings.Trim(part, generatedLetters) == ""
}
