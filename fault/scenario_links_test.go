package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// wiring reads "GENERATION LINKS hgx|rack|none": what every GPU's healthy NVLinks
// are like. Rack is a compute tray of NVL72.
func (s *stage) wiring(n int, text string) func(int) *nvlink.Reading {
	var generation, links int
	var kind string
	if _, err := fmt.Sscan(text, &generation, &links, &kind); err != nil || !slices.Contains([]string{"hgx", "rack", "none"}, kind) {
		s.t.Fatalf("line %d: not GENERATION LINKS hgx|rack|none: %q", n, text)
	}
	return func(i int) *nvlink.Reading {
		r := &nvlink.Reading{Generation: generation, Links: []nvlink.Link{}}
		for l := range links {
			zero, ber := uint64(0), 15e-255
			r.Links = append(r.Links, nvlink.Link{Index: l, State: nvlink.Active, Remote: nvlink.RemoteSwitch,
				Counters: nvlink.Counters{Recoveries: &zero, RecoveryFailed: &zero, EffectiveBER: &ber}})
		}
		if kind == "none" {
			return r
		}
		status, mask, summary := 0, uint32(0x1aa), 1
		r.Fabric = &nvlink.Fabric{Version: 3, State: nvlink.FabricCompleted, Status: &status, Mask: &mask, Summary: &summary}
		if kind == "rack" {
			r.Fabric.Cluster, r.Fabric.Clique = "7b1c0f2e-5d8a-4c3c-9b6e-2f4a1d0c8e57", 1
			r.Platform = &nvlink.Platform{Chassis: "1821325191570", Slot: 11, Tray: 6, Module: i + 1, Switched: true}
		}
		return r
	}
}

// setLink puts NVLinks into a state: down:5, down:5-7, all-down, sleep:5, nowhere:5
// (down, and its far end not known), recoveries:5:12, failed-recoveries:5:1, ber:5:1e-11,
// fabric:in-progress, status:999, mask:0x1a9, summary:2, old-fabric (version 1).
func setLink(r *nvlink.Reading, word, text string) bool {
	first, rest, _ := strings.Cut(text, ":")
	number, _ := strconv.Atoi(rest)
	count := uint64(number)
	switch word {
	case "down", "sleep", "nowhere":
		return setStates(r, word, text)
	case "all-down":
		for l := range r.Links {
			r.Links[l].State = nvlink.Inactive
		}
	case "recoveries":
		return onLink(r, first, func(l *nvlink.Link) { l.Recoveries = &count })
	case "failed-recoveries":
		return onLink(r, first, func(l *nvlink.Link) { l.RecoveryFailed = &count })
	case "ber":
		rate, err := strconv.ParseFloat(rest, 64)
		return err == nil && onLink(r, first, func(l *nvlink.Link) { l.EffectiveBER = &rate })
	case "fabric":
		r.Fabric.Status, r.Fabric.Mask, r.Fabric.Summary, r.Fabric.Cluster = nil, nil, nil, ""
		return r.Fabric.State.UnmarshalText([]byte(text)) == nil
	case "status":
		status, err := strconv.Atoi(text)
		r.Fabric.Status = &status
		return err == nil
	case "mask":
		mask, err := strconv.ParseUint(text, 0, 32)
		m := uint32(mask)
		r.Fabric.Mask = &m
		return err == nil
	case "summary":
		summary, err := strconv.Atoi(text)
		r.Fabric.Summary = &summary
		return err == nil
	case "old-fabric":
		r.Fabric.Version, r.Fabric.Mask, r.Fabric.Summary = 1, nil, nil
	default:
		return false
	}
	return true
}

func setStates(r *nvlink.Reading, word, text string) bool {
	first, last, many := strings.Cut(text, "-")
	from, err := strconv.Atoi(first)
	to := from
	if many {
		to, _ = strconv.Atoi(last)
	}
	for l := from; err == nil && l <= to && to < len(r.Links); l++ {
		switch word {
		case "sleep":
			r.Links[l].State = nvlink.Sleep
		case "nowhere":
			r.Links[l].State, r.Links[l].Remote = nvlink.Inactive, nvlink.RemoteUnknown
		default:
			r.Links[l].State = nvlink.Inactive
		}
	}
	return err == nil
}

func onLink(r *nvlink.Reading, text string, do func(*nvlink.Link)) bool {
	link, err := strconv.Atoi(text)
	if err != nil || link >= len(r.Links) {
		return false
	}
	do(&r.Links[link])
	return true
}

func setJobs(g *GPUState, n int) bool {
	g.Processes = &n
	return true
}

// looked reads what a look at IMEX finds.
func (s *stage) looked(n int, text string) (m IMEX) {
	for _, word := range strings.Fields(text) {
		yes, no := true, false
		users, isUsers := strings.CutPrefix(word, "users:")
		switch count, err := strconv.Atoi(users); {
		case isUsers && err == nil:
			m.Users = &count
		case word == "runs":
			m.Runs = &yes
		case word == "gone":
			m.Runs = &no
		case word == "ready":
			m.State = nvlink.IMEXReady
		case word == "waiting":
			m.State = nvlink.IMEXNotReady
		case word == "dcgm":
			m.Witness = "DCGM"
		default:
			s.t.Fatalf("line %d: nothing that a look at IMEX finds: %q", n, word)
		}
	}
	return m
}
