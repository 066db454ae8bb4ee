package guard

import "fmt"

// budget holds what would take one more node out than may be. A cordon counts
// every node that is out, those with a hard fault too; what is done to a node that
// is out by right counts the nodes that are out, or worked on, by leave: else a
// rack that has failed as a whole could never be repaired.
func (r Rules) budget(f Facts, a Ask) *Hold {
	if f.Leave {
		return nil // this node is counted already
	}
	out, leave := 0, 0
	for _, p := range f.Peers {
		if p.Out {
			out++
		}
		if p.Leave {
			leave++
		}
	}
	may := r.Budget.Of(f.Nodes)
	if a.Action == Cordon && out >= may {
		return &Hold{Budget, Full, fmt.Sprintf("%s out of service, and %d may be", f.are(out), may),
			fmt.Sprintf("fewer than %d are", may)}
	}
	if a.Action != Cordon && leave >= may {
		return &Hold{Budget, Full, fmt.Sprintf("%s out or repaired by leave, and %d may be", f.are(leave), may),
			fmt.Sprintf("fewer than %d are", may)}
	}
	return nil
}

// are begins a sentence about so many of the group's nodes.
func (f Facts) are(n int) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s of %d in %s %s", nodes(n), f.Nodes, f.Group, verb)
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
