package fault

import (
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
)

// heard reads what neighbours say: NODE, or NODE=SAYS[,SAYS…]; N*NODE stands for N
// nodes alike, NODE-1 and so on.
func (s *stage) heard(n int, text string) (heard []nvlink.Summary) {
	for _, f := range strings.Fields(text) {
		name, says, _ := strings.Cut(f, "=")
		var one nvlink.Summary
		for _, what := range strings.Split(says, ",") {
			if !setSummary(&one, what) {
				s.t.Fatalf("line %d: nothing that a neighbour says: %q", n, what)
			}
		}
		times, node, many := strings.Cut(name, "*")
		if one.Node = name; !many {
			heard = append(heard, one)
			continue
		}
		count, _ := strconv.Atoi(times)
		for i := range count {
			one.Node = node + "-" + strconv.Itoa(i+1)
			heard = append(heard, one)
		}
	}
	return heard
}

func setSummary(s *nvlink.Summary, what string) bool {
	word, text, _ := strings.Cut(what, ":")
	number, _ := strconv.Atoi(text)
	switch word {
	case "":
	case "down":
		s.Down = append(s.Down, number)
	case "all-down":
		s.AllDown = true
	case "root":
		s.Roots = append(s.Roots, text)
	case "echoes":
		s.Echoes = number
	case "training":
		s.Training = true
	default:
		return false
	}
	return true
}
