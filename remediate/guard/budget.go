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
		return &Hold{Budget, fmt.Sprintf("%s of %d in %s are out of service, and %d may be", nodes(out), f.Nodes, f.Group, may),
			fmt.Sprintf("fewer than %d are", may)}
	}
	if a.Action != Cordon && leave >= may {
		return &Hold{Budget, fmt.Sprintf("%s of %d in %s are out or repaired by leave, and %d may be", nodes(leave), f.Nodes, f.Group, may),
			fmt.Sprintf("fewer than %d are", may)}
	}
	return nil
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
