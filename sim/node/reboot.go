package node

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Reboot gives the node a new boot id and an empty kernel log whose sequence
// starts at 0. Lost GPUs come back unless they are broken; for the others it is a
// reset, and hangs, failing calls, events and a version mismatch are gone.
func (n *Node) Reboot() error {
	return n.change(func(c *conf) error {
		c.set(nodeSection, "mismatch", "off")
		c.remove(nodeSection, isCallFault)
		c.remove(nodeSection, isEvent)
		for i := range c.count() {
			rebootGPU(c, i)
		}
		return n.boot()
	})
}

func rebootGPU(c *conf, i int) {
	c.set(i, "state", c.get(i, "after-reboot"))
	c.remove(i, isCallFault)
	c.reset(i)
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
