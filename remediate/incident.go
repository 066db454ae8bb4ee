package remediate

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/fault"
)

// StepKind is one thing to be done for an incident.
type StepKind string

// The steps, in the order of a plan.
const (
	StepRestart StepKind = "restart"
	StepCordon  StepKind = "cordon"
	StepDrain   StepKind = "drain"
	StepReset   StepKind = "reset"
	StepReboot  StepKind = "reboot"
	StepReplace StepKind = "replace"
	StepDiag    StepKind = "diag"
)

// order is the place of a step in a plan.
func (k StepKind) order() int {
	return slices.Index([]StepKind{StepRestart, StepCordon, StepDrain, StepReset, StepReboot, StepReplace, StepDiag}, k)
}

// StepStatus is how far a step is.
type StepStatus string

// The statuses.
const (
	// Pending: written down, not yet seen on the Node.
	Pending StepStatus = "pending"
	// Done: seen.
	Done StepStatus = "done"
	// Requested: recorded for whoever the site allows to do it.
	Requested StepStatus = "requested"
	// WhenIdle: requested, and waits for an idle window.
	WhenIdle StepStatus = "when-idle"
	// Held: wanted, but it could not be written down, so nobody is asked.
	Held StepStatus = "held"
	// Guarded: wanted, and a guard holds it.
	Guarded StepStatus = "guarded"
	// Covered: wanted, and comes with what another incident of the node asks for.
	Covered StepStatus = "covered"
	// Withdrawn: not wanted any more.
	Withdrawn StepStatus = "withdrawn"
	// Planned: the agent does it itself, once it may.
	Planned StepStatus = "planned"
	// UnderWay: a deed of the agent's is about it.
	UnderWay StepStatus = "under-way"
	// Overdue: a drain or restart has had its time, and is tried again after as long
	// a time.
	Overdue StepStatus = "overdue"
	// PutOff: a restart that was not let happen when it was tried, which is again in a
	// moment; what else is due comes first.
	PutOff StepStatus = "put-off"
	// Blocked: somebody who does not go holds a GPU.
	Blocked StepStatus = "blocked"
	// Fruitless: tried, and it did not work, or nobody knows whether it did.
	Fruitless StepStatus = "fruitless"
)

// Step is one step of an incident's plan.
type Step struct {
	Kind   StepKind   `json:"kind"`
	Status StepStatus `json:"status"`
	Since  time.Time  `json:"since"`
	// Tries counts the drains and restarts of the agent's own, since the last that
	// was another or succeeded.
	Tries int `json:"tries,omitempty"`
	// Begun is when the first of a restart's tries was.
	Begun time.Time `json:"begun,omitzero"`
	// Why is what came of the last try, in words; empty where nothing stood against it.
	Why string `json:"why,omitempty"`
}

// Incident is one fault that the plan follows, from its first verdict to its
// release.
type Incident struct {
	Verdict fault.Verdict `json:"verdict"`
	State   NodeState     `json:"state"`
	// Claimed: the node shall be out of service for it.
	Claimed bool `json:"claimed"`
	// Contained: the Node has shown cordon, taint and mark for it.
	Contained bool `json:"contained"`
	// Released: an administrator put the node back, and that stands.
	Released bool `json:"released"`
	// Unfenced is why its GPU cannot be fenced by itself; empty where it can, or nobody
	// has tried.
	Unfenced string `json:"unfenced,omitempty"`
	// Kept: the mode is observe by now, and the node stays as it was.
	Kept bool `json:"kept,omitempty"`
	// Adopted: the Node's mark told of it, and nothing else.
	Adopted bool   `json:"adopted,omitempty"`
	Steps   []Step `json:"steps,omitempty"`
	// Held is what guards hold at present.
	Held []HeldAction `json:"held,omitempty"`
	// Waits is what its steps wait for. It is for whoever looks, and kept nowhere.
	Waits []Waiting `json:"waits,omitempty"`
	// Since is when the state began. Below mode repair it is kept of a probation
	// alone.
	Since time.Time `json:"since,omitzero"`
	// Until is when the present state's deadline passes: the end of the probation,
	// and in mode repair that of any state.
	Until time.Time `json:"until,omitzero"`
	// Waited is since when a served probation waits for replicas; zero is not.
	Waited time.Time `json:"waited,omitzero"`
	// Seen is when the Node was seen contained for it, or made anew and not.
	Seen time.Time `json:"seen,omitzero"`
	// Settling is until when a repair is given time to be seen to have worked.
	Settling time.Time `json:"settling,omitzero"`
	// ForIdle: claimed for an idle window alone, and given back where it is none.
	ForIdle bool `json:"forIdle,omitempty"`
	// Pause is until when no idle window is looked for.
	Pause time.Time `json:"pause,omitzero"`
	// Forceful: its drain has had its time, and the next one forces.
	Forceful bool `json:"forceful,omitempty"`
	// SkipReset: who holds the GPU cannot be made to go, which only a reboot cures.
	SkipReset bool `json:"skipReset,omitempty"`
	// Refusals counts the resets that were refused because of a holder, Refusers are
	// those who were named the last time.
	Refusals int      `json:"refusals,omitempty"`
	Refusers []Holder `json:"refusers,omitempty"`
	// Declined are the deeds that there is nobody here to do.
	Declined []StepKind `json:"declined,omitempty"`
	// Level is that of the diagnosis which its verdicts have called for; 0 for none.
	Level int `json:"level,omitempty"`
	// Over is the judge's last word, which waits for a diagnosis to confirm it.
	Over *fault.Verdict `json:"over,omitempty"`
	// Due is when a diagnosis became due: who held the GPUs before says nothing.
	Due time.Time `json:"due,omitzero"`
	// Failing: the fault is over by the judge, and not by a diagnosis.
	Failing bool `json:"failing,omitempty"`
	// Retry is when a diagnosis is tried again that there was nobody for; zero is never.
	Retry time.Time `json:"retry,omitzero"`
	// Vain counts the diagnoses that were begun and came to no answer.
	Vain int `json:"vain,omitempty"`
	// Replacement is what is asked of a person once nothing else has helped.
	Replacement *Replacement `json:"replacement,omitempty"`
	// Ended is when it was over.
	Ended time.Time `json:"ended,omitzero"`
}

// holds says whether the incident keeps the node out of service.
func (i *Incident) holds() bool { return i.Claimed && !i.Released }

// sick says whether the GPUs of the incident are not to be counted on.
func (i *Incident) sick() bool {
	return i.State != Probation && (i.Verdict.Acts() || i.Claimed && !i.Verdict.Closed)
}

// step finds a step by kind.
func (i *Incident) step(k StepKind) *Step {
	for n := range i.Steps {
		if i.Steps[n].Kind == k {
			return &i.Steps[n]
		}
	}
	return nil
}

// Asks says whether a step is asked of others at present.
func (i *Incident) Asks(k StepKind) bool {
	s := i.step(k)
	return s != nil && (s.Status == Requested || s.Status == WhenIdle)
}

// want sets a step's status, adding it where it is missing, and says whether
// that was news.
func (i *Incident) want(now time.Time, k StepKind, s StepStatus) bool {
	if have := i.step(k); have != nil {
		if have.Status == s || have.Status.over() || i.Asks(k) && s == Held {
			return false
		}
		have.Status, have.Since, have.Why = s, now, ""
		return true
	}
	i.Steps = append(i.Steps, Step{Kind: k, Status: s, Since: now})
	slices.SortStableFunc(i.Steps, func(a, b Step) int { return a.Kind.order() - b.Kind.order() })
	return true
}

// over says whether a step has been taken, whatever came of it.
func (s StepStatus) over() bool { return s == Done || s == Fruitless }

// waits says whether a step is wanted and not taken.
func (s StepStatus) waits() bool {
	return slices.Contains([]StepStatus{Requested, WhenIdle, Held, Guarded, Planned, UnderWay, Overdue, PutOff, Blocked}, s)
}

// mark sets a step's status, whatever it was.
func (i *Incident) mark(now time.Time, k StepKind, s StepStatus) {
	if have := i.step(k); have == nil {
		i.want(now, k, s)
	} else if have.Status != s {
		have.Status, have.Since, have.Why = s, now, ""
	}
}

// because notes what came of the last try of a step.
func (i *Incident) because(k StepKind, why string) {
	if s := i.step(k); s != nil {
		s.Why = why
	}
}

// withdraw drops the steps that have not been taken.
func (i *Incident) withdraw(now time.Time) {
	for n := range i.Steps {
		if !i.Steps[n].Status.over() {
			i.Steps[n].Status, i.Steps[n].Since = Withdrawn, now
		}
	}
}

// requests gives the steps that a verdict asks of others, in order.
func requests(v fault.Verdict) []StepKind {
	var ks []StepKind
	if restarts(v) {
		ks = append(ks, StepRestart)
	}
	if v.Drain != fault.DrainNever && v.Action > fault.Cordon {
		ks = append(ks, StepDrain)
	}
	switch max(v.Action, v.Later) {
	case fault.Reset:
		ks = append(ks, StepReset)
	case fault.Reboot:
		ks = append(ks, StepReboot)
	case fault.Replace:
		ks = append(ks, StepReplace)
	}
	if v.Diag > 0 && max(v.Action, v.Later) >= fault.Diag {
		ks = append(ks, StepDiag)
	}
	return ks
}

// next names the first step that is still wanted, for the mark on the Node.
func (i *Incident) next() string {
	for _, s := range i.Steps {
		if s.Kind != StepCordon && s.Status.waits() {
			return string(s.Kind) + "-" + string(s.Status)
		}
	}
	return string(i.State)
}

// clone is a copy that shares nothing that changes.
func (i *Incident) clone() Incident {
	c := *i
	c.Steps, c.Held = slices.Clone(i.Steps), slices.Clone(i.Held)
	c.Declined = slices.Clone(i.Declined)
	c.Refusers = slices.Clone(i.Refusers)
	return c
}
