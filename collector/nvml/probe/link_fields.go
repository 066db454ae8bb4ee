package probe

import (
	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// maxSpeed is in MB/s; NVLink 5 has 53,125.
const maxSpeed = 10_000_000

// linkField is a field whose scope is a link, and where it goes.
type linkField struct {
	id  uint32
	put func(l *nvlink.Link, n int64) (possible bool)
}

// The tables are never changed.
var (
	linkFields = []linkField{
		{driver.FI_DEV_NVLINK_GET_STATE, putState},
		{driver.FI_DEV_NVLINK_GET_SPEED, func(l *nvlink.Link, n int64) bool { return within(&l.Speed, n, 0, maxSpeed) }},
		{driver.FI_DEV_NVLINK_REMOTE_NVLINK_ID, func(l *nvlink.Link, n int64) bool { return count(&l.PeerID, n) }},
	}
	// counters5 came with NVLink 5.
	counters5 = append([]linkField{
		{driver.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS, func(l *nvlink.Link, n int64) bool { return count(&l.Recovered, n) }},
		{driver.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, func(l *nvlink.Link, n int64) bool { return count(&l.RecoveryFailed, n) }},
		{driver.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, func(l *nvlink.Link, n int64) bool { return count(&l.Recoveries, n) }},
		{driver.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.EffectiveErrors, n) }},
		{driver.FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, func(l *nvlink.Link, n int64) bool { return putBER(&l.EffectiveBER, n) }},
		{driver.FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.SymbolErrors, n) }},
		{driver.FI_DEV_NVLINK_COUNT_SYMBOL_BER, func(l *nvlink.Link, n int64) bool { return putBER(&l.SymbolBER, n) }},
		{driver.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.Malformed, n) }},
		{driver.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.Overrun, n) }},
		{driver.FI_DEV_NVLINK_COUNT_RCV_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.Received, n) }},
		{driver.FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.Remote, n) }},
		{driver.FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.General, n) }},
		{driver.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.Integrity, n) }},
		{driver.FI_DEV_NVLINK_COUNT_XMIT_DISCARDS, func(l *nvlink.Link, n int64) bool { return count(&l.Packets.Discarded, n) }},
	}, fecFields()...)
	counters4 = []linkField{
		{driver.FI_DEV_NVLINK_ERROR_DL_REPLAY, func(l *nvlink.Link, n int64) bool { return count(&l.Replays, n) }},
		{driver.FI_DEV_NVLINK_ERROR_DL_RECOVERY, func(l *nvlink.Link, n int64) bool { return count(&l.Recoveries, n) }},
		{driver.FI_DEV_NVLINK_ERROR_DL_CRC, func(l *nvlink.Link, n int64) bool { return count(&l.CRC, n) }},
	}
)

// linkCounters gives the counters of a generation; where it is not known, those
// of today.
func linkCounters(generation int) []linkField {
	if generation > 0 && generation < 5 {
		return counters4
	}
	return counters5
}

// fecFields are the bins of the error correction's history, which follow each
// other by number.
func fecFields() (fields []linkField) {
	const bins = driver.FI_DEV_NVLINK_COUNT_FEC_HISTORY_15 - driver.FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 + 1
	for bin := range bins {
		fields = append(fields, linkField{driver.FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 + uint32(bin), func(l *nvlink.Link, n int64) bool {
			if l.FEC == nil {
				l.FEC = make([]uint64, bins)
			}
			var words *uint64
			if !count(&words, n) {
				return false
			}
			l.FEC[bin] = *words
			return true
		}})
	}
	return fields
}

// putState puts a state: NVML_NVLINK_STATE_* in nvml.h.
func putState(l *nvlink.Link, n int64) bool {
	states := [...]nvlink.State{nvlink.Inactive, nvlink.Active, nvlink.Sleep, nvlink.Disabled}
	if n < 0 || n >= int64(len(states)) {
		return false
	}
	l.State = states[n]
	return true
}

func putBER(to **float64, packed int64) bool {
	rate, ok := nvlink.BER(uint64(packed))
	if ok {
		*to = &rate
	}
	return ok
}
