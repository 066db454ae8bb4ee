package remediate

import (
	"fmt"
	"strings"
	"time"
)

// unproved says whether a node that has served its probation waits for replicas which
// have not proved that they serve. It does not for longer than the policy says: what
// holds one of them may be no fault of the node.
func (p *Plan) unproved(now time.Time, i *Incident) bool {
	if !i.holds() || len(p.sources.Unproved) == 0 || p.policy.Replicas <= 0 {
		return false
	}
	if i.Waited.IsZero() {
		i.Waited = now
		p.tell(now, i.Verdict, "Normal", "ProbationExtended", fmt.Sprintf("the probation for %s is served; the node waits until %s at most for %s",
			i.Verdict.Class, now.Add(p.policy.Replicas).UTC().Format(time.RFC3339), join(p.sources.Unproved)))
	}
	return now.Before(i.Waited.Add(p.policy.Replicas))
}

// servedProbation tells that a probation is, and what was waited for in vain.
func (p *Plan) servedProbation(now time.Time, i *Incident) {
	kind, text := "Normal", string(i.Verdict.Class)+" is over, and the probation is served"
	if !i.Waited.IsZero() && len(p.sources.Unproved) > 0 {
		kind, text = "Warning", text+"; the node goes back to service without waiting any longer for "+join(p.sources.Unproved)
	}
	p.tell(now, i.Verdict, kind, "ProbationServed", text)
}

// namedReplicas bounds how many replicas a text names.
const namedReplicas = 4

func join(replicas []string) string {
	more := len(replicas) - namedReplicas
	if more <= 0 {
		return strings.Join(replicas, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(replicas[:namedReplicas], "; "), more)
}
