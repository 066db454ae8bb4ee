package check

import "fmt"

// Grade is how a node is. Its number is the exit status, which is that of
// monitoring plugins too.
type Grade int

// The grades.
const (
	// Healthy: every GPU is in order.
	Healthy Grade = iota
	// Degraded: a fault that takes no GPU out of service, NVLinks that are not up yet, or
	// a node on probation.
	Degraded
	// Faulty: a fault that takes the node out of service.
	Faulty
	// Unknown: it could not be seen.
	Unknown
)

var gradeNames = [...]string{"healthy", "degraded", "faulty", "unknown"}

// String gives the grade's name.
func (g Grade) String() string {
	if g < 0 || int(g) >= len(gradeNames) {
		return fmt.Sprintf("invalid(%d)", int(g))
	}
	return gradeNames[g]
}

// MarshalText writes the grade as String does.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// worse orders the grades: a fault that is seen counts more than what is not seen,
// which counts more than what may be lived with.
func worse(a, b Grade) int {
	rank := [...]int{Healthy: 0, Degraded: 1, Unknown: 2, Faulty: 3}
	return rank[a] - rank[b]
}
