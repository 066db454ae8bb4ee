package nvlink

// Summary is what a neighbour of the same NVLink domain says of its own links,
// in a few hundred bytes: only one that is not healthy says anything.
type Summary struct {
	// Node is the neighbour's name.
	Node string `json:"node"`
	// Down are the link numbers that are down on every one of its GPUs, AllDown
	// says that all of them are.
	Down    []int `json:"down,omitempty"`
	AllDown bool  `json:"allDown,omitempty"`
	// Roots are its GPUs that are to blame by their own errors, by UUID.
	Roots []string `json:"roots,omitempty"`
	// Echoes counts its GPUs that only saw the far end fail.
	Echoes int `json:"echoes,omitempty"`
	// Training: it waits for its links to come up, as after a boot.
	Training bool `json:"training,omitempty"`
	// Silent: it is known to the domain and does not answer.
	Silent bool `json:"silent,omitempty"`
}
