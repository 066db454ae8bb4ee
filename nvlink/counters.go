package nvlink

import "math"

// Counters is what a link has counted since the driver was loaded or the GPU was
// reset. Which of them there are depends on the generation; nil is unknown.
type Counters struct {
	// Recoveries counts how often the link fell out of service and was trained
	// again, Recovered those that worked, and RecoveryFailed those after which it
	// was declared down. Before NVLink 5 there is only the first.
	Recoveries     *uint64 `json:"recoveries,omitempty"`
	Recovered      *uint64 `json:"recovered,omitempty"`
	RecoveryFailed *uint64 `json:"recovery_failed,omitempty"`
	// EffectiveBER is the rate of bit errors that are left behind the forward
	// error correction, SymbolBER that of symbols. A rate of 1e-200 is none.
	EffectiveBER    *float64 `json:"ber,omitempty"`
	SymbolBER       *float64 `json:"symbol_ber,omitempty"`
	EffectiveErrors *uint64  `json:"errors,omitempty"`
	SymbolErrors    *uint64  `json:"symbol_errors,omitempty"`
	Packets         Packets  `json:"packets,omitzero"`
	// FEC is the history of the forward error correction: FEC[n] counts the
	// code words in which n symbols had to be corrected. The last is the most
	// that can be.
	FEC []uint64 `json:"fec,omitempty"`
	// Replays and CRC are of the data link layer, before NVLink 5.
	Replays *uint64 `json:"replays,omitempty"`
	CRC     *uint64 `json:"crc,omitempty"`
}

// Packets counts packets that went wrong, by how: NVML fields 206 to 212.
type Packets struct {
	Malformed *uint64 `json:"malformed,omitempty"`
	Overrun   *uint64 `json:"overrun,omitempty"`
	Received  *uint64 `json:"received,omitempty"`
	Remote    *uint64 `json:"remote,omitempty"`
	General   *uint64 `json:"general,omitempty"`
	Integrity *uint64 `json:"integrity,omitempty"`
	Discarded *uint64 `json:"discarded,omitempty"`
}

// Errors adds up what is known; known is false when nothing is.
func (p Packets) Errors() (sum uint64, known bool) {
	for _, n := range []*uint64{p.Malformed, p.Overrun, p.Received, p.Remote, p.General, p.Integrity, p.Discarded} {
		if n != nil {
			sum, known = sum+*n, true
		}
	}
	return sum, known
}

// FECDepth is the most symbols that had to be corrected in one code word, and -1
// where there is no history.
func (c Counters) FECDepth() int {
	for n := len(c.FEC) - 1; n >= 0; n-- {
		if c.FEC[n] > 0 {
			return n
		}
	}
	return -1
}

// BER decodes a bit error rate as NVML packs it (nvml.h,
// NVML_NVLINK_ERROR_COUNTER_BER_GET): the mantissa in bits 8 to 11, and in bits
// 0 to 7 the power of ten that it is divided by. It is false for what has other
// bits set, or is more than one.
func BER(packed uint64) (float64, bool) {
	if packed > 0xfff {
		return 0, false
	}
	rate := float64(packed>>8) * math.Pow10(-int(packed&0xff))
	return rate, rate <= 1
}
