package config

import (
	"fmt"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// LinkTrend says from when on an NVLink that gets worse is told.
type LinkTrend struct {
	// PerDay and PerFiveDays are recoveries, at least 1.
	PerDay      int `yaml:"perDay"`
	PerFiveDays int `yaml:"perFiveDays"`
	// BitErrorRate is that behind the error correction, above 0 and below 1.
	BitErrorRate float64 `yaml:"bitErrorRate"`
}

func defaultLinkTrend() LinkTrend {
	return LinkTrend{PerDay: nvlink.DefaultPerDay, PerFiveDays: nvlink.DefaultPerWindow, BitErrorRate: nvlink.DefaultBER}
}

// Limits gives the judge's view of it.
func (l LinkTrend) Limits() nvlink.Limits {
	return nvlink.Limits{PerDay: uint64(l.PerDay), PerWindow: uint64(l.PerFiveDays), BER: l.BitErrorRate}
}

func (l LinkTrend) check() []finding {
	rate := l.BitErrorRate
	return []finding{
		{"nvml.linkTrend.perDay", l.PerDay < 1, fmt.Sprintf("%d is less than 1", l.PerDay)},
		{"nvml.linkTrend.perFiveDays", l.PerFiveDays < 1, fmt.Sprintf("%d is less than 1", l.PerFiveDays)},
		{"nvml.linkTrend.bitErrorRate", !(rate > 0 && rate < 1), fmt.Sprintf("%v is not between 0 and 1", rate)},
	}
}
