package serving

// Doing is what a GPU was doing at one poll, by all of its signals together.
type Doing uint8

// What a GPU may be doing.
const (
	// Unknown: it does not tell, or what it tells does not fit together.
	Unknown Doing = iota
	// Working: it computes, or moves data to compute on.
	Working
	// Quiet: no kernel runs.
	Quiet
	// Wedged: a kernel runs all the time and does nothing, as one of a collective
	// does that waits for a rank which does not come.
	Wedged
)

var doings = [...]string{"unknown", "working", "quiet", "wedged"}

// String gives the word for it.
func (d Doing) String() string { return doings[d] }

// The limits, in percent. A share of power is of what the GPU may draw: H100 that
// hold a model and idle draw 16 to 19 % of it (wilicc/gpu-burn#114), and 22 % in a
// hung NCCL all-gather (NVIDIA/nccl#1550), V100 18 to 22 % (zai-org/GLM-130B#32). The
// small ones (T4, L4, A10) idle at up to half of it, so that only more than that
// speaks against being quiet. A wedge of those is not seen, which errs on the careful
// side.
const (
	noActivity  = 1.0  // noise of sampling
	noTraffic   = 2.0  // the polling of flags by waiting kernels
	allBusy     = 95.0 // one sample in twenty may miss
	idlePower   = 30.0
	atWorkPower = 60.0
)

// Doing judges one poll. Every signal that is known has to agree: one that shows
// work outweighs all that show none. Profiling counters read zero while somebody else
// holds the profiler, so that a GPU is wedged only if its power says so too.
func (a Activity) Doing() Doing {
	compute := []*float64{a.SM, a.Busy}
	if !anyKnown(compute...) {
		return Unknown
	}
	power := a.power()
	busy := a.Busy
	if !known(busy) {
		busy = a.SM // a MIG instance has no more
	}
	still := within(noActivity, a.Tensor) && within(noTraffic, a.DRAM)
	switch {
	case within(noActivity, compute...) && still && within(atWorkPower, power):
		return Quiet
	case known(busy) && *busy >= allBusy && still && known(power) && *power <= idlePower:
		return Wedged
	case known(busy) && *busy >= allBusy && still && !known(power):
		return Unknown
	}
	return Working
}

// power is the share of the limit that is drawn, in percent; nil is unknown.
func (a Activity) power() *float64 {
	if !known(a.Watts) || !known(a.Limit) || *a.Limit == 0 {
		return nil
	}
	share := 100 * *a.Watts / *a.Limit
	return &share
}

// within says whether nothing that is known is above a limit.
func within(limit float64, values ...*float64) bool {
	for _, v := range values {
		if known(v) && *v > limit {
			return false
		}
	}
	return true
}

func anyKnown(values ...*float64) bool {
	for _, v := range values {
		if known(v) {
			return true
		}
	}
	return false
}

// known says whether a value was told, and can be one: none here is negative.
func known(v *float64) bool { return v != nil && *v >= 0 && *v < tooMuch }

// tooMuch is above all that is counted here, and below what stands for no value in
// NVML's and DCGM's answers (2^47 as a float, 2^63 as an integer).
const tooMuch = 1 << 47
