package daemontest

import (
	"fmt"
	"strconv"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// GPU gives one of the node's GPUs by its index.
func (d *Daemon) GPU(index int) node.GPU {
	d.t.Helper()
	g, err := d.Sim.GPU(strconv.Itoa(index))
	if err != nil {
		d.t.Fatal(err)
	}
	return g
}

// Say lets the node's kernel say one line.
func (d *Daemon) Say(line string) {
	d.t.Helper()
	d.Must(d.Sim.Kmsg(line))
}

// Must fails the test when something could not be done to the node.
func (d *Daemon) Must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// XID is the driver's line for a GPU at an address; text begins with the code.
func XID(pci, text string) string { return fmt.Sprintf("NVRM: Xid (PCI:%s): %s", pci, text) }

// Lines of the driver without their head.
const (
	OffTheBus   = "79, pid=4713, name=VLLM::Worker, GPU has fallen off the bus."
	Uncontained = "95, pid=4712, name=VLLM::Worker, Uncontained: FBHUB. RST: Yes, D-RST: No"
	ResetWanted = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
	NoneWanted  = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
)
