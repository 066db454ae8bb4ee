package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// dcgmCommands are those on the node's DCGM engine.
func dcgmCommands() []command {
	return []command{
		{"dcgm-start", "ADDRESS", "start the DCGM engine, or start it anew",
			func(n *node.Node, a []string) error { return n.DCGM().Start(a[0]) }},
		{"dcgm-set", "KEY VALUE", "engine up|stopped|down, mismatch on|off, driver on|off, switches N, version, patience",
			func(n *node.Node, a []string) error { return n.DCGM().Set(a[0], a[1]) }},
		{"dcgm-field", "GPU FIELD VALUE", "give a field a value",
			func(n *node.Node, a []string) error {
				return numbers(a[1:2], func(v []int) error { return n.DCGM().Field(a[0], v[0], a[2]) })
			}},
		{"dcgm-blank", "GPU on|off", "let all values be blank",
			func(n *node.Node, a []string) error {
				return onOff(a[1], func(on bool) error { return n.DCGM().Blank(a[0], on) })
			}},
		{"dcgm-xid", "GPU CODE", "let the driver tell the engine of an XID",
			func(n *node.Node, a []string) error {
				return numbers(a[1:], func(v []int) error { return n.DCGM().XID(a[0], v[0]) })
			}},
		{"dcgm-kmsg-xid", "GPU CODE", "let the engine read an XID from the kernel log",
			func(n *node.Node, a []string) error {
				return numbers(a[1:], func(v []int) error { return n.DCGM().KmsgXID(a[0], v[0]) })
			}},
		{"dcgm-violation", "GPU CONDITION VALUE", "violate a policy: dbe, pcie, retired-pages, thermal, power, nvlink, xid",
			func(n *node.Node, a []string) error {
				return numbers(a[2:], func(v []int) error { return n.DCGM().Violation(a[0], a[1], v[0]) })
			}},
		{"dcgm-incident", "GROUP ID SYSTEM CODE RESULT", "add an incident to every health check, all by number",
			func(n *node.Node, a []string) error {
				return numbers(a, func(v []int) error { return n.DCGM().Incident(v[0], v[1], v[2], v[3], v[4]) })
			}},
		{"dcgm-fail", "CALL CODE", "let a call answer so; 0 ends it",
			func(n *node.Node, a []string) error {
				return numbers(a[1:], func(v []int) error { return n.DCGM().Fail(a[0], v[0]) })
			}},
		{"dcgm-hang", "CALL SECONDS", "let a call take so long; 0 ends it",
			func(n *node.Node, a []string) error {
				return numbers(a[1:], func(v []int) error { return n.DCGM().Hang(a[0], time.Duration(v[0])*time.Second) })
			}},
	}
}

// numbers reads arguments as numbers, hexadecimal ones too.
func numbers(args []string, do func([]int) error) error {
	list := make([]int, len(args))
	for i, arg := range args {
		n, err := strconv.ParseInt(arg, 0, 64)
		if err != nil {
			return fmt.Errorf("%q: want a number", arg)
		}
		list[i] = int(n)
	}
	return do(list)
}

func onOff(word string, do func(on bool) error) error {
	if word != "on" && word != "off" {
		return fmt.Errorf("%q: want on or off", word)
	}
	return do(word == "on")
}
