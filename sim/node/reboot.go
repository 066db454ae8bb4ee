package node

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Reboot gives the node a new boot id and an empty kernel log whose sequence
// starts at 0. Lost GPUs come back unless they are broken; pending remaps are
// carried out; recovery actions, hangs and a version mismatch are gone. A failed
// remap stays.
func (n *Node) Reboot() error {
	return n.change(func(c *conf) error {
		c.set(nodeSection, "mismatch", "off")
		c.remove(nodeSection, isHang)
		for i := range c.count() {
			rebootGPU(c, i)
		}
		return n.boot()
	})
}

func rebootGPU(c *conf, i int) {
	state := "present"
	if after := c.get(i, "after-reboot"); after != "" {
		state = after
	}
	c.set(i, "state", state)
	c.remove(i, isHang)
	if c.get(i, "remap") == "pending" {
		c.set(i, "remap", "none")
	}
	c.settle(i, "recovery", "0")
}

// boot changes the boot id and then empties the kernel log in place: a reader
// that has the log open sees it end, and must find the new id when it looks.
func (n *Node) boot() error {
	if err := n.replace(bootFile, []byte(bootID()+"\n")); err != nil {
		return err
	}
	if err := os.WriteFile(n.path(kmsgFile), nil, 0o644); err != nil {
		return fmt.Errorf("simulated node: %w", err)
	}
	return nil
}

// bootID is a random UUID, like the kernel's.
func bootID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, says crypto/rand
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
