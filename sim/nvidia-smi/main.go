// Command nvidia-smi is the driver's tool on a simulated node, as far as a repair
// needs it: it lists GPUs, tells and sets persistence mode, and resets GPUs. The
// node is the folder that GPUHEALTHD_SIM names.
//
//	nvidia-smi -L
//	nvidia-smi --query-gpu=uuid,pci.bus_id,persistence_mode --format=csv,noheader [-i GPU,…]
//	nvidia-smi -pm 0|1 [-i GPU,…]
//	nvidia-smi --gpu-reset [-i GPU,…]
//
// Texts and exit statuses are the real tool's: 15 for a GPU that is off the bus,
// 255 for a reset that is refused. A GPU that another process has open, or that
// persistence mode keeps, is not reset. What else a reset does is the control
// file's key reset, see node.ResetAs.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// The exit statuses of the real tool, by its manual.
const (
	badArgument = 2
	notFound    = 6
	noDriver    = 9
	gpuLost     = 15
	otherError  = 255
)

// failure is an end of the tool that is not success.
type failure struct {
	status int
	text   string
}

func (f failure) Error() string { return f.text }

func main() {
	err := run(os.Args[1:])
	var f failure
	switch {
	case err == nil:
	case errors.As(err, &f):
		fmt.Println(f.text)
		os.Exit(f.status)
	default:
		fmt.Println(err)
		os.Exit(otherError)
	}
}

func run(args []string) error {
	r, err := parse(args)
	if err != nil {
		return err
	}
	n, err := node.Open(os.Getenv("GPUHEALTHD_SIM"))
	if err != nil {
		return failure{noDriver, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. " +
			"Make sure that the latest NVIDIA driver is installed and running."}
	}
	gpus, err := choose(n, r.gpus)
	if err != nil {
		return err
	}
	switch r.do {
	case doList:
		return list(gpus)
	case doQuery:
		return query(n, gpus, r.fields)
	case doPersistence:
		return setPersistence(n, gpus, r.on)
	default:
		return reset(n, gpus)
	}
}

// choose gives the GPUs that -i names, or all that are not gone.
func choose(n *node.Node, names []string) ([]node.GPU, error) {
	if len(names) > 0 {
		return named(n, names)
	}
	all, err := n.GPUs()
	if err != nil {
		return nil, err
	}
	var there []node.GPU
	for _, g := range all {
		if g.State != "gone" {
			there = append(there, g)
		}
	}
	return there, nil
}

func named(n *node.Node, names []string) (gpus []node.GPU, err error) {
	for _, name := range names {
		g, err := n.GPU(name)
		if err != nil || g.State == "gone" {
			return nil, failure{notFound, "No devices were found"}
		}
		gpus = append(gpus, g)
	}
	return gpus, nil
}

// busID is a GPU's address as the tool prints it.
func busID(g node.GPU) string { return "0000" + strings.ToUpper(g.PCI) + ".0" }

// reachable fails as the tool does where a GPU is off the bus.
func reachable(g node.GPU) error {
	if g.State != "lost" {
		return nil
	}
	return failure{gpuLost, fmt.Sprintf("Unable to determine the device handle for GPU %s: GPU is lost.  "+
		"Reboot the system to recover this GPU", busID(g))}
}
