package node

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// GPU is one GPU as the control file has it.
type GPU struct {
	// Index is the place in the control file, from 0.
	Index int
	// UUID, PCI (domain:bus:device, lower case), Serial, Name and the board's Part
	// number identify it.
	UUID, PCI, Serial, Name, Part string
	// State is present, lost or gone.
	State string
}

// GPUs lists the node's GPUs in the order of the control file.
func (n *Node) GPUs() ([]GPU, error) {
	c, err := n.read()
	if err != nil {
		return nil, err
	}
	return c.gpus(), nil
}

// GPU gives the one that is named by index, UUID or PCI address.
func (n *Node) GPU(name string) (GPU, error) {
	c, err := n.read()
	if err != nil {
		return GPU{}, err
	}
	return c.resolve(name)
}

func (n *Node) read() (conf, error) {
	text, err := os.ReadFile(n.path(controlFile))
	if err != nil {
		return conf{}, fmt.Errorf("simulated node: %w", err)
	}
	return parseConf(text), nil
}

func (c conf) gpus() []GPU {
	list := make([]GPU, c.count())
	for i := range list {
		list[i] = GPU{
			Index:  i,
			UUID:   c.get(i, "uuid"),
			PCI:    address(c.get(i, "pci")),
			Serial: c.get(i, "serial"),
			Name:   c.get(i, "name"),
			Part:   c.get(i, "part"),
			State:  c.get(i, "state"),
		}
	}
	return list
}

func (c conf) resolve(name string) (GPU, error) {
	index, err := strconv.Atoi(name)
	if err != nil {
		index = -1
	}
	for _, g := range c.gpus() {
		if g.Index == index || g.UUID == name || g.PCI == address(name) {
			return g, nil
		}
	}
	return GPU{}, fmt.Errorf("GPU %q: no such index, UUID or PCI address on this node", name)
}

// address brings the spellings of a PCI address to one: lower case, a domain
// of four digits, no function. What is no address comes back in lower case.
func address(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ".")
	parts := strings.Split(s, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return s
	}
	domain, err := strconv.ParseUint(parts[0], 16, 32)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%04x:%s:%s", domain, parts[1], parts[2])
}
