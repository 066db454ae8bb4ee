package main

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// reset resets all of the GPUs or, where one is held, none.
func reset(n *node.Node, gpus []node.GPU) error {
	var refused []string
	for _, g := range gpus {
		if err := reachable(g); err != nil {
			return err
		}
		held, err := held(n, g)
		if err != nil {
			return err
		}
		if held {
			refused = append(refused, fmt.Sprintf("  GPU %s: In use by another client", busID(g)))
		}
	}
	if refused != nil {
		return failure{otherError, fmt.Sprintf("The following GPUs could not be reset:\n%s\n\n"+
			"%d device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application, "+
			"graphics application such as an X server, or a monitoring application such as another instance of nvidia-smi). "+
			"Please first kill all processes using this device and all compute applications running in the system.",
			strings.Join(refused, "\n"), len(refused))}
	}
	for _, g := range gpus {
		if err := resetOne(n, g); err != nil {
			return err
		}
	}
	return nil
}

// held says whether a reset of the GPU would be refused.
func held(n *node.Node, g node.GPU) (bool, error) {
	persistent, err := n.Persistence(g.UUID)
	if err != nil || persistent {
		return persistent, err
	}
	holders, err := n.Holders(g.UUID)
	return len(holders) > 0, err
}

// resetOne does what the control file says that a reset does.
func resetOne(n *node.Node, g node.GPU) error {
	as, text, err := n.ResetsAs(g.UUID)
	if err != nil {
		return err
	}
	switch as {
	case node.ResetFails:
		return failure{otherError, fmt.Sprintf("The following GPUs could not be reset:\n  GPU %s: %s", busID(g), text)}
	case node.ResetHangs:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		for {
			time.Sleep(time.Hour)
		}
	case node.ResetHealsNothing:
	default:
		if err := healed(n, g); err != nil {
			return err
		}
	}
	fmt.Printf("GPU %s was successfully reset.\n", busID(g))
	return nil
}

// healed resets the GPU and lets the kernel log say what the driver wants of it
// then, if that is news.
func healed(n *node.Node, g node.GPU) error {
	action, err := n.RecoveryAction(g.UUID)
	if err != nil {
		return err
	}
	if err := n.Reset(g.UUID); err != nil {
		return err
	}
	if action == 0 {
		return nil
	}
	names := []string{"None", "GPU Reset Required", "Node Reboot Required", "Drain P2P", "Drain and Reset"}
	name := "Unknown"
	if action < len(names) {
		name = names[action]
	}
	return n.Kmsg(fmt.Sprintf("NVRM: Xid (PCI:%s): 154, GPU recovery action changed from 0x%x (%s) to 0x0 (None)", g.PCI, action, name))
}
