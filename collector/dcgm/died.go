package dcgm

// Died is the end of a child that nobody asked to end.
type Died struct {
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	Symbol string `json:"symbol,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}
