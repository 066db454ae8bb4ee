package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

// worker is the argument of a copy of this program that stands for nvvs, the child
// of an engine that runs inside dcgmi.
const worker = "nvvs"

// connect tells whether the engine answers. One that is stopped answers nobody.
func connect(n *node.Node, host string) (bool, error) {
	engine, address, err := n.DCGM().State()
	for err == nil && engine == "stopped" {
		time.Sleep(20 * time.Millisecond)
		engine, address, err = n.DCGM().State()
	}
	host = strings.TrimPrefix(host, "unix://")
	return engine == "up" && (host == "" || host == address), err
}

func noEngine(host string) string {
	if host == "" {
		host = "localhost"
	}
	return fmt.Sprintf("Error: unable to establish a connection to the specified host: %s\n", host)
}

// startWorker starts nvvs in our process group, where a signal to us alone does
// not reach it. It has the GPUs open, and so have we.
func (d *diagnosis) startWorker() (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	files := []*os.File{nil, os.Stdout, os.Stderr}
	for _, gpu := range d.gpus {
		device, err := d.node.Open(gpu)
		if err != nil {
			return nil, err
		}
		files = append(files, device)
	}
	d.open = files
	return os.StartProcess(self, []string{self, worker}, &os.ProcAttr{Env: os.Environ(), Files: files})
}

// discover lists the GPUs that the engine knows, as "dcgmi discovery -l" does.
func discover(n *node.Node, o options, out io.Writer) (int, error) {
	up, err := connect(n, o.host)
	if err != nil {
		return exitUsage, err
	}
	if !up && o.host != "" {
		fmt.Fprint(out, noEngine(o.host))
		return exitNoEngine, nil
	}
	gpus, err := present(n)
	if err != nil {
		return exitUsage, err
	}
	const line = "+--------+----------------------------------------------------------------------+\n"
	fmt.Fprintf(out, "%d GPUs found.\n%s| GPU ID | %-68s |\n%s", len(gpus), line, "Device Information", line)
	for _, g := range gpus {
		fmt.Fprintf(out, "| %-6d | %-68s |\n", g.Index, "Name: "+g.Name)
		fmt.Fprintf(out, "|        | %-68s |\n", "PCI Bus ID: 0000"+strings.ToUpper(g.PCI)+".0")
		fmt.Fprintf(out, "|        | %-68s |\n%s", "Device UUID: "+g.UUID, line)
	}
	fmt.Fprint(out, "0 NvSwitches found.\n+-----------+\n| Switch ID |\n+-----------+\n+-----------+\n0 CPUs found.\n",
		line, fmt.Sprintf("| CPU ID | %-68s |\n", "Device Information"), line)
	return 0, nil
}

// present are the GPUs that are not lost: the list of the rest only shrinks.
func present(n *node.Node) (list []node.GPU, err error) {
	gpus, err := n.GPUs()
	for _, g := range gpus {
		if g.State == "present" {
			list = append(list, g)
		}
	}
	return list, err
}
