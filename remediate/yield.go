package remediate

import (
	"fmt"
	"time"
)

// yield gives the node back where an incident has taken it out of service and the part
// to blame turned out to be elsewhere: it would count against whoever has that part. A
// repair that is under way comes to its end first.
func (p *Plan) yield(now time.Time) {
	for _, i := range p.live() {
		if !i.Verdict.Elsewhere || i.Verdict.Acts() || !i.Claimed || p.inRepair(now, i) || p.doing(i, StepDiag) {
			continue
		}
		i.Claimed, i.Contained, i.ForIdle = false, false, false
		i.mark(now, StepCordon, Withdrawn)
		p.place(now, i)
		p.tell(now, i.Verdict, "Normal", "ClaimEnded",
			fmt.Sprintf("the part to blame for %s is elsewhere; this node serves again, unless something else keeps it (incident %s)", i.Verdict.Class, i.Verdict.ID))
	}
}
