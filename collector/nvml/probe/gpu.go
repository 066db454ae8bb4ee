package probe

import "github.com/gpuhealthd/gpuhealthd/collector/nvml"

// gpu is what is known of one index. The loop owns it but for track and, while a
// query is under way, without, gpm, instances and ends, which are the query's.
type gpu struct {
	track track    // the call that its query is in
	busy  bool     // its query has not answered yet
	stuck call     // the call that is past its deadline
	last  nvml.GPU // the last answer
	due   bool     // the slow values are to be asked for

	without map[string]bool // what it said it does not support
	gpm     sampler
	// instances samples the GPU instances of MIG mode, by id.
	instances map[int]*sampler
	ends      map[int]end // what its links lead to, as far as that was told
}

func newGPU(index int) *gpu {
	return &gpu{last: nvml.GPU{Index: index}, without: map[string]bool{}, instances: map[int]*sampler{}, ends: map[int]end{}}
}

// unknown is the GPU with nothing known but who it is: that does not change
// while the library is open, and outlives the GPU.
func (g *gpu) unknown() nvml.GPU {
	return nvml.GPU{Index: g.last.Index, Identity: g.last.Identity}
}

// query prepares the next poll.
func (g *gpu) query(lib library) *query {
	q := &query{lib: lib, gpu: g, slow: g.due, found: g.unknown()}
	if g.due {
		clear(g.without) // MIG mode or a new driver may have changed it
	}
	g.busy, g.due = true, false
	return q
}
