package guard

import (
	"fmt"
	"strings"
)

// Rota is how many nodes may be diagnosed at once, for one more to be by the clock:
// of a group, and of a rack, whose power they share. It counts whoever is diagnosed,
// and holds the clock alone.
type Rota struct{ AtOnce, PerRack int }

// Rack is what power a node shares with others.
type Rack struct {
	// Name names it in words, label=value; empty where the node shares none.
	Name string
	// Unknown is why nobody can tell the rack of this node; empty otherwise.
	Unknown string
	// Busy names the others of it that are diagnosed.
	Busy []string
}

// scheduled gives what holds a diagnosis by the clock.
func (r Rules) scheduled(f Facts) (holds []Hold) {
	if hold := full(Schedule, f.Group, f.Busy, r.Rota.AtOnce); hold != nil {
		holds = append(holds, *hold)
	}
	if f.Rack.Unknown != "" {
		holds = append(holds, Hold{Power, Unknown, f.Rack.Unknown, "it is known"})
	}
	if hold := full(Power, f.Rack.Name, f.Rack.Busy, r.Rota.PerRack); hold != nil && f.Rack.Name != "" {
		holds = append(holds, *hold)
	}
	return holds
}

// full is the hold where as many are diagnosed as may be.
func full(by Guard, where string, busy []string, may int) *Hold {
	if len(busy) < may {
		return nil
	}
	names := strings.Join(busy[:min(len(busy), maxNamed)], ", ")
	if len(busy) > maxNamed {
		names += ", …"
	}
	return &Hold{by, Full, fmt.Sprintf("%s of %s being diagnosed (%s), and %d may be", nodes(len(busy)), where, names, may), fmt.Sprintf("fewer than %d are", may)}
}

// maxNamed bounds the nodes that a hold names.
const maxNamed = 4
