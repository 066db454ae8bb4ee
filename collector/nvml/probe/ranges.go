package probe

// What no GPU can have: a sensor or a driver that says so is lying.
const (
	minTemp, maxTemp = -60, 150 // °C
	minLimit         = 50       // °C: some drivers tell 0 for a limit that they do not have
	maxWatts         = 10_000
	maxRows          = 1 << 20
	maxGen, maxWidth = 10, 64 // of PCIe
	maxProcesses     = 1 << 20
	maxBytes         = 1 << 50
	maxCount         = 1 << 56 // ten years of 200 million errors a second

	// blank32 and those above it stand for no value, in counters of 32 bits
	// that are told as 64: all ones is what a dead register reads as.
	blank32, ones32 = 0x7ffffff0, 0xffffffff
)

// within puts n where it is in [low, high].
func within(to **int, n, low, high int64) bool {
	if n < low || n > high {
		return false
	}
	v := int(n)
	*to = &v
	return true
}

// count puts a counter.
func count(to **uint64, n int64) bool {
	blank := n >= blank32 && n <= blank32+3 || n == ones32
	if n < 0 || n > maxCount || blank {
		return false
	}
	v := uint64(n)
	*to = &v
	return true
}

// flag puts what is 0 or 1.
func flag(to **bool, n int64) bool {
	if n != 0 && n != 1 {
		return false
	}
	v := n == 1
	*to = &v
	return true
}

// watts puts what is told in milliwatts.
func watts(to **float64, milliwatts int64) bool {
	v := float64(milliwatts) / 1000
	if v < 0 || v > maxWatts {
		return false
	}
	*to = &v
	return true
}

// elapsed puts a time that is told in nanoseconds, in seconds.
func elapsed(to **float64, nanoseconds int64) bool {
	if nanoseconds < 0 || nanoseconds > 1<<62 {
		return false
	}
	v := float64(nanoseconds) / 1e9
	*to = &v
	return true
}

// percent puts what is in [0, 100].
func percent(to **float64, v float64) bool {
	if !(v >= 0 && v <= 100) { // NaN is neither
		return false
	}
	*to = &v
	return true
}
