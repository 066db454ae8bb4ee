package diag

import (
	"fmt"
	"strings"
)

// flaw is an answer of a version of DCGM that is known to be wrong. All that is
// given must fit.
type flaw struct {
	test string
	// from is the first version that has it, before the first that has not; empty
	// for all.
	from, before string
	code         int
	text         string // in the error's text, lower case
	why, source  string
}

// flaws are what people who run fleets, or NVIDIA's release notes, tell of.
var flaws = [...]flaw{
	{test: "nvbandwidth", from: "4.5.0", before: "4.5.1", text: "memory copy utilization",
		why:    "it begins before the test ahead of it has died down, and fails on idle GPUs",
		source: "NVIDIA/DCGM#272; fixed in 4.5.1 by its release notes"},
	{test: "memory", from: "4.5.0", code: 56,
		why:    "it says pass without the memory that it was to test",
		source: "NVIDIA/DCGM#284"},
	{test: "pcie", before: "3.1.6", code: 14,
		why:    "it fails on links that are inactive by design",
		source: "release notes of DCGM 3.1.6"},
	{before: "4.0.0", code: 40,
		why:    "DCGM 3 tells of thermal violations that there were not",
		source: "GoogleCloudPlatform/cluster-health-scanner#78"},
}

// fits tells whether an error is that flaw's. Of an unknown version no flaw is
// known.
func (k flaw) fits(version, test string, e Error) bool {
	return version != "" &&
		(k.test == "" || k.test == test) &&
		(k.from == "" || !older(version, k.from)) &&
		(k.before == "" || older(version, k.before)) &&
		(k.code == 0 || k.code == e.Code) &&
		strings.Contains(strings.ToLower(e.Text), k.text)
}

// flawOf gives why an error is not to be believed; empty where it may be.
func flawOf(version, test string, e Error) string {
	for _, k := range flaws {
		if k.fits(version, test, e) {
			return fmt.Sprintf("known of DCGM %s: %s (%s)", version, k.why, k.source)
		}
	}
	return ""
}

// obstacles are words with which a diagnosis is refused, and what they mean.
var obstacles = [...]struct{ text, why string }{
	{"mig configuration", "a GPU in MIG mode stops the diagnosis of every GPU (NVIDIA/DCGM#70)"},
	{"homogeneous group", "DCGM tests GPUs of one kind at a time"},
}

// obstacle explains why nothing was run, where the words are known.
func obstacle(said string) string {
	said = strings.ToLower(said)
	for _, o := range obstacles {
		if strings.Contains(said, o.text) {
			return o.why
		}
	}
	return ""
}
