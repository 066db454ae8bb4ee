package nvlink

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Summary is what a node of an NVLink domain says of its own links, in a few
// hundred bytes. One that is healthy says nothing: the zero value.
type Summary struct {
	// Node is its name. It is not part of the text: whoever holds the text knows
	// whose it is, and nobody speaks for another.
	Node string `json:"-"`
	// Down are the link numbers that are down on every one of its GPUs, AllDown
	// says that all of them are.
	Down    []int `json:"down,omitempty"`
	AllDown bool  `json:"allDown,omitempty"`
	// Roots are its GPUs that are to blame by their own errors, by UUID.
	Roots []string `json:"roots,omitempty"`
	// Echoes counts its GPUs that only saw the far end fail.
	Echoes int `json:"echoes,omitempty"`
	// Training: its links or its fabric are not up, and are given their time.
	Training bool `json:"training,omitempty"`
	// Work names the workloads on its GPUs, as NAMESPACE/NAME, as many as fit into
	// the text; MoreWork counts the others.
	Work     []string `json:"work,omitempty"`
	MoreWork int      `json:"moreWork,omitempty"`
}

// The bounds of a summary. A tray of a rack has 4 GPUs, a GPU 18 links.
const (
	// SummaryLimit is the most bytes that its text has.
	SummaryLimit  = 512
	maxLink       = 63
	maxRoots      = 8
	maxRootLength = 40 // "GPU-" and a UUID
	maxEchoes     = 64
	maxWork       = 16
	maxWorkLength = 63 + 1 + 253 // a namespace and a name
	maxMoreWork   = 1024
)

// Quiet says whether the summary has nothing to say of the links.
func (s Summary) Quiet() bool {
	return !s.AllDown && !s.Training && s.Echoes == 0 && len(s.Down) == 0 && len(s.Roots) == 0
}

// claims says whether the node takes the fault for its own.
func (s Summary) claims() bool { return s.AllDown || len(s.Roots) > 0 || len(s.Down) > 0 }

// Text is the summary as it is published, never longer than SummaryLimit; empty
// where there is nothing to say of the links.
func (s Summary) Text() string {
	if s.Quiet() {
		return ""
	}
	s.Roots = s.Roots[:min(len(s.Roots), maxRoots)]
	if s.AllDown {
		s.Down = nil // they are all of them
	}
	work, more := s.Work, s.MoreWork
	for n := min(len(work), maxWork); ; n-- {
		s.Work, s.MoreWork = work[:n], min(more+len(work)-n, maxMoreWork)
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // numbers and strings cannot fail
		}
		if n == 0 || len(text) <= SummaryLimit {
			return string(text)
		}
	}
}

// ParseSummary reads what a node publishes; the empty text is a healthy node's.
// Anybody who may write to that node may have written it: what is longer, more or
// stranger than an agent's own is an error that says what. Fields that it does
// not know are a later version's.
func ParseSummary(node, text string) (Summary, error) {
	s := Summary{Node: node}
	if text == "" {
		return s, nil
	}
	if len(text) > SummaryLimit {
		return Summary{}, fmt.Errorf("NVLink summary of node %s: longer than %d bytes, the most that are read", node, SummaryLimit)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Summary{}, fmt.Errorf("NVLink summary of node %s: %w", node, err)
	}
	if why := s.strange(); why != "" {
		return Summary{}, fmt.Errorf("NVLink summary of node %s: %s", node, why)
	}
	return s, nil
}

// strange says what no agent would write; empty for nothing.
func (s Summary) strange() string {
	if i := slices.IndexFunc(s.Down, func(n int) bool { return n < 0 || n > maxLink }); i >= 0 {
		return fmt.Sprintf("down: link %d is not one of 0 to %d", s.Down[i], maxLink)
	}
	if s.Echoes < 0 || s.Echoes > maxEchoes {
		return fmt.Sprintf("echoes: %d is not one of 0 to %d", s.Echoes, maxEchoes)
	}
	if len(s.Roots) > maxRoots {
		return fmt.Sprintf("roots: %d GPUs, at most %d are believed", len(s.Roots), maxRoots)
	}
	if i := slices.IndexFunc(s.Roots, func(u string) bool { return !plain(u) }); i >= 0 {
		return fmt.Sprintf("roots: %.60q is no GPU's name", s.Roots[i])
	}
	if len(s.Work) > maxWork {
		return fmt.Sprintf("work: %d workloads, at most %d are believed", len(s.Work), maxWork)
	}
	if i := slices.IndexFunc(s.Work, func(w string) bool { return !workload(w) }); i >= 0 {
		return fmt.Sprintf("work: %.60q is no workload's name", s.Work[i])
	}
	if s.MoreWork < 0 || s.MoreWork > maxMoreWork {
		return fmt.Sprintf("moreWork: %d is not one of 0 to %d", s.MoreWork, maxMoreWork)
	}
	return ""
}

// plain says whether a text can be a UUID or a PCI address.
func plain(name string) bool {
	odd := func(r rune) bool {
		return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-:.", r)
	}
	return name != "" && len(name) <= maxRootLength && strings.IndexFunc(name, odd) < 0
}

// workload says whether a text can be a namespace and a name of Kubernetes'.
func workload(name string) bool {
	odd := func(r rune) bool { return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz-./", r) }
	return len(name) <= maxWorkLength && strings.Count(name, "/") == 1 && strings.IndexFunc(name, odd) < 0
}

// Afflicted names the trays whose links are not in order, and the workloads on them,
// each once and sorted; more counts the workloads that did not fit into a summary,
// where they may be the same on several.
func Afflicted(all []Summary) (trays, workloads []string, more int) {
	for _, s := range all {
		if !s.Quiet() {
			trays, workloads, more = append(trays, s.Node), append(workloads, s.Work...), more+s.MoreWork
		}
	}
	slices.Sort(trays)
	slices.Sort(workloads)
	return slices.Compact(trays), slices.Compact(workloads), more
}

// DomainHash is the short name of a domain and its partition, which fits into a
// label: the first 12 hex digits of the SHA-256 of "UUID.clique", the UUID in
// lower case. It is empty for none.
func DomainHash(domain string) string {
	if domain == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.ToLower(domain)))
	return hex.EncodeToString(sum[:6])
}
