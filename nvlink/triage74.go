package nvlink

import (
	"fmt"
	"math/bits"
)

// Result74 is what one register bit of XID 74 stands for. A greater value is
// stronger: of several bits the strongest decides.
type Result74 uint8

// The results, by strength.
const (
	// Ignore: nothing to do.
	Ignore Result74 = 1 + iota
	// Sympathetic: the far end of the link, or another error, is the cause.
	Sympathetic
	// Repeat: harmless by itself; acts when the same link shows it Times times.
	Repeat
	// Unknown: no valid register has a bit set, or the bit has no published
	// meaning (on A100 none has). It stands above Repeat, because what is not
	// understood must not be waited for.
	Unknown
	// SignalIntegrity: the link's signal is marginal; reseat or replace.
	SignalIntegrity
	// FabricReset: the GPU recovers only together with its fabric.
	FabricReset
	// Hardware: a defect of the link, its connector or the board.
	Hardware
)

// String gives the result as logs and reasons spell it.
func (r Result74) String() string {
	names := [...]string{"none", "ignore", "sympathetic", "repeat", "unknown", "signal integrity", "fabric reset", "hardware"}
	if int(r) < len(names) {
		return names[r]
	}
	return "none"
}

// Triage74 is the verdict on one line's registers.
type Triage74 struct {
	Result Result74
	// Times is how often the same link must show this before it acts: 1 for at
	// once, 0 for never.
	Times int
	// Reason names register, bit and meaning, for people.
	Reason string
}

// Acts says whether something is to be done at once.
func (t Triage74) Acts() bool { return t.Result >= Unknown }

// meaning74 gives bits of one register a meaning. Registers count from 1 as in
// NVIDIA's workflow for Hopper; the second, sixth and seventh are not defined.
type meaning74 struct {
	register int
	mask     uint32
	result   Result74
	times    int
	what     string
}

var meanings74 = [...]meaning74{
	{1, 1<<0 | 1<<23 | 1<<30, Ignore, 0, "no fault"},
	{1, 1<<1 | 1<<20, Sympathetic, 0, "echo of another error"},
	{1, 1<<4 | 1<<5, Repeat, 3, "ECC or parity error"},
	{1, 1<<27 | 1<<29, Repeat, 2, "harmless unless repeated"},
	{1, 1<<21 | 1<<22, SignalIntegrity, 1, "marginal signal"},
	{1, 1<<8 | 1<<9 | 1<<12 | 1<<16 | 1<<17 | 1<<24 | 1<<28, Hardware, 1, "mechanical or hardware fault"},
	{3, 1<<0 | 1<<1 | 1<<2 | 1<<6, Repeat, 3, "ECC error"},
	{3, 1<<16 | 1<<19, Repeat, 2, "run diagnostics when repeated"},
	{3, 1<<17 | 1<<18, Repeat, 2, "report when repeated"},
	{3, 1 << 13, Hardware, 1, "never expected in the field"},
	{4, 1<<16 | 1<<17, Sympathetic, 0, "echo of an error at the far end"},
	{4, 1 << 18, FabricReset, 1, "echo of a far error that needs a fabric reset"},
	{5, 1<<20 | 1<<23 | 1<<26 | 1<<29, Ignore, 0, "corrected errors passed their threshold"},
	{5, 1<<18 | 1<<19 | 1<<21 | 1<<22 | 1<<24 | 1<<25 | 1<<27 | 1<<28, Repeat, 3, "ECC error"},
}

// Triage reads the seven registers that XID 74 prints behind its link. The
// strongest bit wins; of equals the one that acts after the fewest repeats.
func Triage(regs [7]uint32) Triage74 {
	best := Triage74{Reason: "no register of XID 74 has a bit set that says why"}
	for i, value := range regs {
		register := i + 1
		for ; defined74(register) && value != 0; value &= value - 1 {
			bit := bits.TrailingZeros32(value)
			if m := lookup74(register, bit); stronger74(m, best) {
				best = Triage74{m.result, m.times, fmt.Sprintf("register %d bit %d: %s", register, bit, m.what)}
			}
		}
	}
	if best.Result == 0 {
		best.Result, best.Times = Unknown, 1
	}
	return best
}

func stronger74(m meaning74, best Triage74) bool {
	return m.result > best.Result || m.result == best.Result && m.times < best.Times
}

func defined74(register int) bool {
	return register == 1 || register >= 3 && register <= 5
}

func lookup74(register, bit int) meaning74 {
	for _, m := range meanings74 {
		if m.register == register && m.mask>>bit&1 == 1 {
			return m
		}
	}
	return meaning74{register: register, result: Unknown, times: 1, what: "no published meaning"}
}
