package agent

import (
	"time"

	"github.com/gpuhealthd/gpuhealthd/remediate"
)

// history is one course that a repair takes.
type history struct {
	name string
	// policy changes what a site has decided.
	policy func(*remediate.Policy)
	// breaks lets GPUs break, once.
	breaks func(*machine)
	// then lets others act, before each poll; nil for nobody.
	then func(*machine)
	// fails and sticky are the resetter's.
	fails, sticky bool
	// ends is the state in which it leaves the node if nothing is interrupted.
	ends remediate.NodeState
}

// repairPolicy is a site's that repairs all by itself, in a hurry.
func repairPolicy() remediate.Policy {
	p := remediate.DefaultRepair()
	p.Probation, p.Settle, p.Unreachable = probation, 45*time.Second, time.Minute
	p.Drain = remediate.DrainPolicy{Mode: remediate.MeansPods, Deadline: 30 * time.Second, AtDeadline: remediate.Wait}
	p.Reset = remediate.ResetPolicy{Mode: remediate.MeansCommand, Deadline: 30 * time.Second, OnHolders: remediate.HolderHold}
	p.Reboot = remediate.RebootPolicy{Mode: remediate.MeansCommand, Deadline: 30 * time.Second}
	return p
}

// fails breaks a GPU with a pod on it, in a way that has one cure.
func (m *machine) fails(gpu int, cure remediate.StepKind) *card {
	c := &m.Cards[gpu]
	c.Cure, c.Pods = cure, []pod{{Name: "default/a", Takes: 12 * time.Second}}
	m.Said = append(m.Said, xid(gpu, uncontained), xid(gpu, resetAsked))
	return c
}

var histories = []history{
	{name: "a reset heals", ends: remediate.Healthy,
		breaks: func(m *machine) { m.fails(2, remediate.StepReset) }},
	{name: "a reset heals nothing and a reboot does", ends: remediate.Healthy,
		breaks: func(m *machine) { m.fails(2, remediate.StepReboot) }},
	{name: "a reset fails and a reboot heals", ends: remediate.Healthy, fails: true,
		breaks: func(m *machine) { m.fails(2, remediate.StepReboot) }},
	{name: "nothing heals", ends: remediate.Failed,
		breaks: func(m *machine) { m.fails(2, remediate.StepReplace) }},
	{name: "off the bus", ends: remediate.Healthy,
		breaks: func(m *machine) {
			m.fails(5, remediate.StepReboot).Lost = true
			m.Said = []string{xid(5, "79, pid=7, GPU has fallen off the bus."), xid(5, "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")}
		}},
	{name: "two at once", ends: remediate.Healthy,
		breaks: func(m *machine) { m.fails(2, remediate.StepReset); m.fails(6, remediate.StepReset) }},
	{name: "a holder who goes", ends: remediate.Healthy,
		breaks: func(m *machine) {
			c := m.fails(2, remediate.StepReset)
			c.Service, c.Yields = true, true
		}},
	{name: "a holder who stays", ends: remediate.Quarantined,
		breaks: func(m *machine) { m.fails(2, remediate.StepReset).Service = true }},
	{name: "a holder who is rebooted", ends: remediate.Healthy,
		policy: func(p *remediate.Policy) { p.Reset.OnHolders = remediate.HolderReboot },
		breaks: func(m *machine) { m.fails(2, remediate.StepReset).Service = true }},
	{name: "a row to be remapped when idle", ends: remediate.Healthy,
		breaks: func(m *machine) {
			m.fails(3, "").Pending = true
			m.Cards[3].Pods[0].Leaves = time.Now().Add(25 * time.Second)
			m.Said = nil
		}},
	{name: "asked of others", ends: remediate.Healthy,
		policy: func(p *remediate.Policy) { p.Reset.Mode = remediate.MeansAnnotation },
		breaks: func(m *machine) { m.fails(2, remediate.StepReset) }},
	{name: "asked of others, in vain", ends: remediate.Healthy,
		policy: func(p *remediate.Policy) { p.Reset.Mode = remediate.MeansAnnotation },
		breaks: func(m *machine) { m.fails(2, remediate.StepReboot) }},
	{name: "a pod that has to be forced", ends: remediate.Healthy,
		policy: func(p *remediate.Policy) { p.Drain.AtDeadline = remediate.Force },
		breaks: func(m *machine) { m.fails(2, remediate.StepReset).Pods[0].Stays = true }},
	{name: "a pod that is waited for", ends: remediate.Healthy,
		breaks: func(m *machine) { m.fails(2, remediate.StepReset).Pods[0].Stays = true },
		then: func(m *machine) {
			if m.once("the budget allows", m.world.said("DrainOverdue")) {
				m.Cards[2].Pods[0].Stays = false
			}
		}},
	{name: "uncordoned by hand in the drain", ends: remediate.Suspect,
		breaks: func(m *machine) { m.fails(2, remediate.StepReplace).Pods[0].Stays = true },
		then: func(m *machine) {
			if m.once("uncordoned", m.world.said("DrainStarted")) {
				m.world.uncordon()
			}
		}},
	{name: "what cannot be put back at once", ends: remediate.Healthy, sticky: true,
		breaks: func(m *machine) { m.fails(2, remediate.StepReset) }},
}
