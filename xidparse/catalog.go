package xidparse

import (
	"cmp"
	"slices"
)

// Entry is what the catalogue knows of one XID. Its words are those of
// catalog.csv and docs/xids.md.
type Entry struct {
	Code int
	// Name is NVIDIA's mnemonic, without ROBUST_CHANNEL_.
	Name string
	// Meaning is one plain sentence.
	Meaning string
	// Fault is who most likely is at fault: unknown, application, gpu, link,
	// host, driver or peer.
	Fault string
	// Architectures that NVIDIA lists it for; empty for none.
	Architectures string
	// Radius is how far the damage reaches: process, mig, gpu, baseboard, node
	// or domain.
	Radius string
	// Action is the first step: none, record, restart, cordon, diag, reset,
	// reboot, replace or hold. An application's fault never goes above restart.
	Action string
	// Diag is the level of the diagnosis afterwards, 2 or 3; 0 for none.
	Diag int
	// SymptomOf lists the XIDs beside which this one is an echo.
	SymptomOf []int
	// Source is where code and name come from.
	Source string
	// Note holds what is good to know and, where sources disagree, the choice
	// and its reason.
	Note string
}

// Lookup finds an XID. It is false for a number that no driver is known to
// print, which is not to say that it is harmless.
func Lookup(code int) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(catalog[:], code, func(e Entry, code int) int { return cmp.Compare(e.Code, code) })
	if !ok {
		return Entry{}, false
	}
	return catalog[i], true
}

// SXidEntry is what the catalogue knows of one SXid.
type SXidEntry struct {
	Code int
	// Name is the driver's mnemonic, without NVSWITCH_ERR_HW_.
	Name string
	// Meaning is one plain sentence.
	Meaning string
	// Class is the Fabric Manager guide's: NonFatal, PotentialFatal,
	// AlwaysFatal, or unknown. A line's own word can differ.
	Class string
}

// LookupSXid finds an SXid.
func LookupSXid(code int) (SXidEntry, bool) {
	i, ok := slices.BinarySearchFunc(sxids[:], code, func(e SXidEntry, code int) int { return cmp.Compare(e.Code, code) })
	if !ok {
		return SXidEntry{}, false
	}
	return sxids[i], true
}

// Codes lists the XIDs of the catalogue, the lowest first.
func Codes() []int {
	all := make([]int, 0, len(catalog))
	for _, e := range catalog {
		all = append(all, e.Code)
	}
	return all
}

// SXidCodes lists its SXids, the lowest first.
func SXidCodes() []int {
	all := make([]int, 0, len(sxids))
	for _, e := range sxids {
		all = append(all, e.Code)
	}
	return all
}
