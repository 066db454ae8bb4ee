package host

import (
	"fmt"
	"slices"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// Reading is what the driver says of one GPU. A nil is not told: not supported by
// this driver or GPU, or not answered.
type Reading struct {
	GPU fault.Device
	// Lost: the driver says that it is off the bus.
	Lost bool
	// Recovery is what the driver wants done, by number; 0 is nothing.
	Recovery *int
	// Uncorrected are the errors of its memories since the last reset.
	Uncorrected *uint64
	// RemapPending: rows wait for a reset to be remapped.
	RemapPending *bool
	// Registered: its registration at the NVLink fabric is completed.
	Registered *bool
}

// Verify compares what the driver said of the node's GPUs before a reset and says
// after it, and gives what speaks against its having worked, one sentence each;
// none is proof. What was told before and is not told now speaks against it too.
func Verify(reset []fault.Device, before, after []Reading) (against []string) {
	for _, was := range before {
		now, listed := find(after, was.GPU)
		switch among := slices.ContainsFunc(reset, func(d fault.Device) bool { return same(d, was.GPU) }); {
		case !listed:
			against = append(against, fmt.Sprintf("%s is not listed any more", was.GPU))
		case now.Lost && (among || !was.Lost):
			against = append(against, fmt.Sprintf("%s is off the bus", was.GPU))
		case among:
			against = append(against, shortcomings(was, now)...)
		}
	}
	for _, gpu := range reset {
		if _, known := find(before, gpu); known {
			continue
		}
		if _, listed := find(after, gpu); !listed {
			against = append(against, fmt.Sprintf("%s is not listed", gpu))
		}
	}
	return against
}

// shortcomings are those of a GPU that was reset and answers.
func shortcomings(was, now Reading) (against []string) {
	say := func(format string, args ...any) {
		against = append(against, now.GPU.String()+": "+fmt.Sprintf(format, args...))
	}
	switch {
	case now.Recovery == nil && was.Recovery != nil:
		say("the driver does not tell its recovery action any more")
	case now.Recovery != nil && *now.Recovery != 0:
		say("the driver still wants recovery action %d", *now.Recovery)
	}
	switch {
	case now.Uncorrected == nil && was.Uncorrected != nil:
		say("its memory errors are not told any more")
	case now.Uncorrected != nil && *now.Uncorrected != 0:
		say("%d uncorrected memory errors since the reset", *now.Uncorrected)
	}
	switch {
	case now.RemapPending == nil && was.RemapPending != nil:
		say("its row remapping is not told any more")
	case now.RemapPending != nil && *now.RemapPending:
		say("rows still wait to be remapped")
	}
	switch {
	case was.Registered == nil || !*was.Registered:
	case now.Registered == nil:
		say("its registration at the NVLink fabric is not told any more")
	case !*now.Registered:
		say("its registration at the NVLink fabric is not completed")
	}
	return against
}

func find(list []Reading, gpu fault.Device) (Reading, bool) {
	i := slices.IndexFunc(list, func(r Reading) bool { return same(r.GPU, gpu) })
	if i < 0 {
		return Reading{}, false
	}
	return list[i], true
}

// same compares by UUID where both have one: a lost GPU may have no address, and
// one of the kernel log no UUID.
func same(a, b fault.Device) bool {
	if a.UUID != "" && b.UUID != "" {
		return a.UUID == b.UUID
	}
	return a.PCI == b.PCI
}
