package fault

import (
	"slices"
	"time"

	"github.com/gpuhealthd/gpuhealthd/ecc"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// heard judges one line of the driver.
func (j *Judge) heard(now time.Time, o Observation, ev xidparse.Event) {
	switch ev.Kind {
	case xidparse.KindIdentity:
		if !j.crowded(ev.PCI) {
			j.device(ev.PCI).UUID = ev.UUID
		}
	case xidparse.KindXID:
		if ev.Code == 154 {
			j.told(now, o, ev)
			return
		}
		j.fault(now, o, XIDClass(ev.Code))
	case xidparse.KindSXID:
		j.fault(now, o, SXIDClass(ev.Code))
	case xidparse.KindOffBus:
		j.fault(now, o, XID79)
	case xidparse.KindInitFailed:
		j.fault(now, o, InitFailed)
	case xidparse.KindGSPTimeout:
		j.fault(now, o, GSPTimeout)
	case xidparse.KindGSPRateLimit:
		// The driver prints this only once a GPU needs a reset: it is a 119 of
		// which most lines are held back.
		j.fault(now, o, XID119)
	case xidparse.KindDriverStuck:
		j.fault(now, o, DriverHung)
	}
}

// fault counts a line towards its episode.
func (j *Judge) fault(now time.Time, o Observation, c Class) {
	ev := o.Fact.(Heard).Event
	if j.crowded(ev.PCI) {
		return
	}
	if ev.HasPCI && !c.IsSXid() {
		j.device(ev.PCI)
	}
	c = j.bounded(ev.PCI, c)
	e := j.episode(now, ev.PCI, c, o)
	fresh, before := e.Count == 0, e.mark()
	j.again(now, e)
	e.add(now, ev.Message)
	e.Asked = j.asks(ev.PCI)
	e.Confirmed = e.Confirmed || !o.Backlog || j.confirms(e)
	if ev.GPUInstance != xidparse.Absent {
		e.Spread = e.Spread || e.Instance != xidparse.Absent && e.Instance != ev.GPUInstance
		e.Instance = ev.GPUInstance
	}
	e.remember(memoryReport(ev))
	switch {
	case c == XID74:
		e.link(ev)
	case isLink5(c):
		e.link5(ev, j.driver)
	case c == XID119:
		e.ask(ev)
	}
	j.suspect(now, e, ev)
	e.Severity = max(e.Severity, ev.SwitchSeverity())
	j.causedBy(e, ev)
	j.reroot(now, e, fresh)
	j.dirty = j.dirty || fresh || before != e.mark()
}

// asks says whether the driver wants something of a GPU at present.
func (j *Judge) asks(pci xidparse.PCI) bool {
	d := j.devices[pci]
	return d != nil && d.Arbiter > recoverNone
}

// reroot finds the root of an episode among the open ones, hands it what the
// symptom knows, and on opening takes in the symptoms that came before it.
func (j *Judge) reroot(now time.Time, e *episode, fresh bool) {
	if e.Root == nil && fresh {
		if root := j.findRoot(now, e); root != nil {
			j.adopt(root, e)
		}
	}
	if root := j.top(e); root != e {
		root.remember(ecc.FromBits(e.Memory))
		return
	}
	if !fresh {
		return
	}
	for _, other := range j.open {
		if other != e && other.Root == nil && echoes(other, e) && now.Sub(other.Last) <= EchoWindow {
			j.adopt(e, other)
		}
	}
}

func (j *Judge) adopt(root, echo *episode) {
	echo.Root = root.ref()
	root.Asked = root.Asked || echo.Asked
	root.remember(ecc.FromBits(echo.Memory))
}

func (j *Judge) findRoot(now time.Time, e *episode) *episode {
	for _, other := range j.ordered() {
		root := j.top(other)
		if other != e && root != e && echoes(e, other) && explains(now, e, other) {
			return root
		}
	}
	return nil
}

// explains says whether the root is near enough in time. What lags is seen long
// after its root, which explains it as long as it is open and acts.
func explains(now time.Time, symptom, root *episode) bool {
	if symptom.rule.Lags {
		return root.said.ID == "" || root.said.Action >= Hold // of this very moment, or acting
	}
	return now.Sub(root.Last) <= EchoWindow
}

// causedBy takes the driver's own word for the cause of an XID 45, whatever the
// catalogue says. A cause that is not open explains nothing.
func (j *Judge) causedBy(e *episode, ev xidparse.Event) {
	if e.Root != nil || ev.CausedBy == 0 {
		return
	}
	if cause := j.open[key{pci: ev.PCI, class: XIDClass(ev.CausedBy)}]; cause != nil && j.top(cause) != e {
		j.adopt(j.top(cause), e)
	}
}

// top follows the roots up to the open episode that stands for itself.
func (j *Judge) top(e *episode) *episode {
	for root := j.rootOf(e); root != nil; root = j.rootOf(root) {
		e = root
	}
	return e
}

// rootOf gives the open episode that e echoes, nil when e stands for itself.
func (j *Judge) rootOf(e *episode) *episode {
	if e.Root == nil {
		return nil
	}
	return j.open[e.Root.key()]
}

// echoes says whether symptom would be explained by root.
func echoes(symptom, root *episode) bool {
	if echo, settled := echoLink5(symptom, root); settled {
		return echo
	}
	r := &symptom.rule
	if symptom.PCI == root.PCI && symptom.Workload == root.Workload {
		if symptom.Class == RecoveryAction {
			return root.rule.Hardware // 154 may be printed before its companion
		}
		if slices.Contains(r.EchoOf, root.Class) {
			return true
		}
	}
	return slices.Contains(r.EchoAnywhere, root.Class)
}
