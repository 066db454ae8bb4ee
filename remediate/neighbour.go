package remediate

// Neighbour is another Node of the NVLink domain, by what its metadata says.
type Neighbour struct {
	Node string
	// Summary is the text that it publishes, empty for none. Anybody who may write
	// to that Node may have written it.
	Summary string
}
