package probe

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gpuhealthd/gpuhealthd/collector/nvml"
)

// costs adds up what asking took, by name, for all GPUs' goroutines.
type costs struct {
	mu   sync.Mutex
	sums map[string]nvml.Cost
}

func newCosts() *costs { return &costs{sums: map[string]nvml.Cost{}} }

func (c *costs) add(name string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.sums[name]
	c.sums[name] = nvml.Cost{Name: name, Count: sum.Count + 1, Seconds: sum.Seconds + took.Seconds()}
}

// take gives the sums, ordered by name, and begins again.
func (c *costs) take() []nvml.Cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]nvml.Cost, 0, len(c.sums))
	for _, name := range slices.Sorted(maps.Keys(c.sums)) {
		list = append(list, c.sums[name])
	}
	clear(c.sums)
	return list
}
