package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ECC counts n more errors in a GPU's memory ("dram" or "sram"), "corrected" or
// "uncorrected": since the driver was loaded and in the board's life.
func (n *Node) ECC(gpu, memory, kind string, count int) error {
	if !slices.Contains([]string{"dram", "sram"}, memory) || !slices.Contains([]string{"corrected", "uncorrected"}, kind) {
		return fmt.Errorf("ecc %q %q: want dram or sram, and corrected or uncorrected", memory, kind)
	}
	if err := n.Add(gpu, "ecc.volatile."+memory+"."+kind, float64(count)); err != nil {
		return err
	}
	return n.Add(gpu, "ecc.aggregate."+memory+"."+kind, float64(count))
}

// Storm lets correctable errors of a GPU's DRAM come at so many a second; 0 ends
// it.
func (n *Node) Storm(gpu string, perSecond float64) error {
	if err := n.Rate(gpu, "ecc.volatile.dram.corrected", perSecond); err != nil {
		return err
	}
	return n.Rate(gpu, "ecc.aggregate.dram.corrected", perSecond)
}

// Retire takes n more pages out of use, for "single" or "double" bit errors, as
// GPUs before Ampere do it.
func (n *Node) Retire(gpu, bits string, count int) error {
	if bits != "single" && bits != "double" {
		return fmt.Errorf("retire %q: want single or double", bits)
	}
	if err := n.Add(gpu, "retired."+bits, float64(count)); err != nil {
		return err
	}
	return n.Set(gpu, "retired.pending", "1")
}

// PCIe sets the generation and the width of a GPU's link.
func (n *Node) PCIe(gpu string, gen, width int) error {
	if err := n.Set(gpu, "pcie.gen", strconv.Itoa(gen)); err != nil {
		return err
	}
	return n.Set(gpu, "pcie.width", strconv.Itoa(width))
}

// MIG turns a GPU's MIG mode on, with one instance, or off.
func (n *Node) MIG(gpu string, on bool) error {
	return n.edit(gpu, func(c *conf, i int) {
		if !on {
			c.set(i, "mig", "off")
			return
		}
		c.set(i, "mig", "on")
		c.set(i, "mig.layout", "1g.10gb:7")
	})
}

// Idle makes some GPU instances of a GPU in MIG mode idle, by their ids; the others show
// what the GPU does (Activity).
func (n *Node) Idle(gpu string, instances ...int) error {
	ids := make([]string, 0, len(instances))
	for _, id := range instances {
		ids = append(ids, strconv.Itoa(id))
	}
	return n.edit(gpu, func(c *conf, i int) { c.set(i, "mig.idle", strings.Join(ids, " ")) })
}

// Work makes a GPU as busy as percent says, with one process: 0 is idle, and
// none.
func (n *Node) Work(gpu string, percent int) error {
	if percent < 0 || percent > 100 {
		return fmt.Errorf("util %d: want 0 to 100", percent)
	}
	busy := min(percent, 1)
	values := []struct {
		name   string
		number int
	}{
		{"utilization.gpu", percent}, {"utilization.memory", percent / 2},
		{"gpm.sm", percent}, {"gpm.tensor", percent / 2}, {"gpm.dram", percent / 3},
		{"processes", busy}, {"clocks.reasons", 1 - busy}, // 1 is idle
	}
	return n.edit(gpu, func(c *conf, i int) {
		for _, v := range values {
			if c.get(i, v.name) != Unsupported {
				c.set(i, v.name, strconv.Itoa(v.number))
			}
		}
	})
}
