package demo

import (
	"fmt"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// act is one thing that happens to the node.
type act struct {
	// at is the time since the play began.
	at   time.Duration
	what string
	do   func(n *node.Node) error
}

// script is the play: a program's fault, a memory error that is repaired, and a
// GPU's death that takes its switches' links with it.
func script(gpus []node.GPU) []act {
	app, ecc, dead := gpus[0], gpus[2], gpus[5]
	return []act{
		{1200 * time.Millisecond, "A program touches memory that is not its own", lines(
			xid(app, "31, pid=4711, name=VLLM::Worker, Ch 00000010, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f02_11000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"),
			xid(app, "43, pid=4711, name=VLLM::Worker, Ch 00000010"))},
		{2500 * time.Millisecond, "Two bits flip in a GPU's memory: 48, 63 and 94 within milliseconds", both(
			lines(xid(ecc, "48, pid=4712, name=VLLM::Worker, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x2af0c0 partition 7, subpartition 2."),
				xid(ecc, "63, pid=4712, name=VLLM::Worker, Row Remapper: New row (0x00000000002af0c0) marked for remapping, reset gpu to activate."),
				xid(ecc, "94, pid=4712, name=VLLM::Worker, Contained: SM (0x1). RST: No, D-RST: Yes"),
				xid(ecc, "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)")),
			func(n *node.Node) error { return n.Remap(ecc.UUID, "pending") },
			func(n *node.Node) error { return n.Recovery(ecc.UUID, 4) })},
		{4500 * time.Millisecond, "Somebody resets that GPU: the driver asks for nothing any more", both(
			func(n *node.Node) error { return n.Remap(ecc.UUID, "none") },
			func(n *node.Node) error { return n.Recovery(ecc.UUID, 0) },
			lines(xid(ecc, "154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x0 (None)")))},
		{9500 * time.Millisecond, "Another GPU falls off the bus, and the switches lose its links", both(
			func(n *node.Node) error { return n.Lose(dead.UUID) },
			lines(xid(dead, "79, pid=4713, name=VLLM::Worker, GPU has fallen off the bus."),
				fmt.Sprintf("NVRM: GPU %s.0: GPU has fallen off the bus.", dead.PCI),
				"nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 32 LTSSM Fault Up",
				"nvidia-nvswitch0: SXid (PCI:0000:07:00.0): 20034, Severity 1 Engine instance 32 Sub-engine instance 00",
				"nvidia-nvswitch1: SXid (PCI:0000:08:00.0): 20034, Fatal, Link 40 LTSSM Fault Up"))},
	}
}

// length is when the curtain falls.
const length = 12 * time.Second

func xid(g node.GPU, text string) string { return fmt.Sprintf("NVRM: Xid (PCI:%s): %s", g.PCI, text) }

func lines(texts ...string) func(*node.Node) error {
	return func(n *node.Node) error {
		for _, t := range texts {
			if err := n.Kmsg(t); err != nil {
				return err
			}
		}
		return nil
	}
}

func both(steps ...func(*node.Node) error) func(*node.Node) error {
	return func(n *node.Node) error {
		for _, s := range steps {
			if err := s(n); err != nil {
				return err
			}
		}
		return nil
	}
}
