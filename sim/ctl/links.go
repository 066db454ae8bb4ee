package main

import (
	"fmt"
	"strconv"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// linkCommands change a GPU's NVLinks and its place in the fabric.
func linkCommands() []command {
	return []command{
		{"link", "GPU LINK up|down", "bring an NVLink up, or take it down",
			func(n *node.Node, a []string) error {
				return count(a[1], func(link int) error {
					if a[2] != "up" && a[2] != "down" {
						return fmt.Errorf("link %q: want up or down", a[2])
					}
					return n.LinkUp(a[0], link, a[2] == "up")
				})
			}},
		{"link-set", "GPU LINK VALUE N", "set a value nvlink.VALUE for one link, as set does for all",
			func(n *node.Node, a []string) error {
				return count(a[1], func(link int) error { return n.SetLink(a[0], link, a[2], a[3]) })
			}},
		{"recoveries", "GPU LINK ok|failed N", "N more recoveries of a link",
			func(n *node.Node, a []string) error {
				if a[2] != "ok" && a[2] != "failed" {
					return fmt.Errorf("recoveries %q: want ok or failed", a[2])
				}
				return count(a[1], func(link int) error {
					return count(a[3], func(times int) error { return n.LinkRecoveries(a[0], link, times, a[2] == "ok") })
				})
			}},
		{"ber", "GPU LINK RATE", "a link's effective bit error rate, such as 1e-12",
			func(n *node.Node, a []string) error {
				return count(a[1], func(link int) error {
					return number(a[2], func(rate float64) error { return n.LinkBER(a[0], link, rate) })
				})
			}},
		{"fabric", "GPU STATE STATUS", "not-supported, not-started, in-progress or completed, with NVML's status (0 is success)",
			func(n *node.Node, a []string) error {
				return count(a[2], func(status int) error { return n.Fabric(a[0], a[1], status) })
			}},
		{"fabric-health", "GPU MASK SUMMARY", "health mask (0x1aa is healthy) and summary: 1 healthy, 2 unhealthy, 3 limited",
			func(n *node.Node, a []string) error {
				mask, err := strconv.ParseUint(a[1], 0, 32)
				if err != nil {
					return fmt.Errorf("mask %q: want a number", a[1])
				}
				return count(a[2], func(summary int) error { return n.FabricHealth(a[0], uint32(mask), summary) })
			}},
	}
}
