package fault

import (
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
)

// How many PCIe packets may be sent again: DCGM's limit for its health watch
// (dcgm_gpu_hardware_limits.h), which is the driver's recommendation.
const (
	replayLimit  = 8
	replayWindow = time.Minute
)

// replays follows the count of PCIe replays from window to window. Its zero value
// has seen none.
type replays struct{ ecc.Counter }

// read takes one poll and says how many there were, once a window is full and
// they were too many.
func (r *replays) read(now time.Time, count *uint64) string {
	if count == nil {
		r.Lose()
		return ""
	}
	if *count >= r.Value && now.Sub(r.At) < replayWindow {
		return ""
	}
	grown, over, ok := r.Read(now, *count)
	if perMinute := float64(grown) / over.Minutes(); ok && perMinute > replayLimit {
		return fmt.Sprintf("%.0f replays a minute", perMinute)
	}
	return ""
}
