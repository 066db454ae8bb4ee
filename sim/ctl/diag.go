package main

import (
	"errors"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// diagCommands are about what dcgmi answers to "dcgmi diag".
func diagCommands() []command {
	return []command{
		{"diag-set", "KEY VALUE", "version, seconds (of a test), hang TEST, deaf on, stopping N, missing TEST,TEST, text TEXT, cut BYTES, exit CODE",
			func(n *node.Node, a []string) error { return n.Diag().Set(a[0], a[1]) }},
		{"diag-result", "GPU TEST Pass|Fail|Warn|Skip", "let a test end so, with no reason given",
			func(n *node.Node, a []string) error { return n.Diag().Result(a[0], a[1], node.Finding{Status: a[2]}) }},
		{"diag-result", "GPU TEST STATUS CODE SEVERITY TEXT", "the same with an error, by DCGM's numbers",
			func(n *node.Node, a []string) error {
				return numbers(a[3:5], func(v []int) error {
					return n.Diag().Result(a[0], a[1], node.Finding{Status: a[2], Code: v[0], Severity: v[1], Text: a[5]})
				})
			}},
		{"diag-busy", "SECONDS", "let another client's diagnosis run; or forever", diagBusy},
		{"diag-stop", "", "stop the diagnosis that runs, as dcgmStopDiagnostic does",
			func(n *node.Node, _ []string) error { return n.Diag().Stop() }},
	}
}

func diagBusy(n *node.Node, args []string) error {
	took := node.Forever
	if args[0] != "forever" {
		err := count(args[0], func(s int) error {
			took = time.Duration(s) * time.Second
			return nil
		})
		if err != nil {
			return err
		}
	}
	begun, err := n.Diag().Begin(took)
	if err == nil && !begun {
		err = errors.New("diag: the engine is busy already")
	}
	return err
}
