package diag

import (
	"strconv"
	"strings"
)

// older tells whether a version ("4.5.0") comes before another. Parts that are no
// numbers count as 0.
func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range max(len(a), len(b)) {
		if x, y := part(a, i), part(b, i); x != y {
			return x < y
		}
	}
	return false
}

func part(version []string, i int) int {
	if i >= len(version) {
		return 0
	}
	n, err := strconv.Atoi(version[i])
	if err != nil {
		return 0
	}
	return n
}
