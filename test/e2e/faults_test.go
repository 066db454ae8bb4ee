package e2e

import "github.com/gpuhealthd/gpuhealthd/test/daemontest"

// lose lets a GPU fall off the bus, and the kernel say so.
func (h *host) lose(gpu int) {
	h.t.Helper()
	g := h.GPU(gpu)
	h.Must(h.Sim.Lose(g.UUID))
	h.Say(daemontest.XID(g.PCI, daemontest.OffTheBus))
}

// sicken gives a GPU an uncontained memory error, which its driver wants reset.
func (h *host) sicken(gpu int) {
	h.t.Helper()
	g := h.GPU(gpu)
	h.Must(h.Sim.Recovery(g.UUID, 1))
	h.Say(daemontest.XID(g.PCI, daemontest.Uncontained))
	h.Say(daemontest.XID(g.PCI, daemontest.ResetWanted))
}

// heal is what a reset of that GPU looks like.
func (h *host) heal(gpu int) {
	h.t.Helper()
	g := h.GPU(gpu)
	h.Must(h.Sim.Recovery(g.UUID, 0))
	h.Say(daemontest.XID(g.PCI, daemontest.NoneWanted))
}
