package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gpuhealthd/gpuhealthd/nvlink"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Limits of a topology file, far above any machine.
const (
	maxNodeGPUs   = 256
	maxGeneration = 9
	maxTrays      = 256
)

// lastPCIDevice is the highest number that PCI gives a device on its bus.
const lastPCIDevice = 0x1f

// LoadTopology finds a topology by name, or reads it from a file.
func LoadTopology(nameOrFile string) (nvlink.Topology, error) {
	if t, ok := nvlink.Named(nameOrFile); ok {
		return t, nil
	}
	data, err := os.ReadFile(nameOrFile)
	if err != nil {
		return nvlink.Topology{}, fmt.Errorf("read the topology, which is none of %s: %w", strings.Join(nvlink.TopologyNames(), ", "), err)
	}
	return ParseTopology(nameOrFile, data)
}

// ParseTopology reads YAML. Errors name file, line and field.
func ParseTopology(name string, data []byte) (nvlink.Topology, error) {
	r := topologyReader{file: name, topology: nvlink.Topology{Name: name}, fields: map[string]*yaml.Node{}}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := dec.Decode(&document); errors.Is(err, io.EOF) {
		return nvlink.Topology{}, fmt.Errorf("%s: empty; a topology lists at least its gpus", name)
	} else if err != nil {
		return nvlink.Topology{}, fmt.Errorf("%s: %w", name, err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nvlink.Topology{}, fmt.Errorf("%s: a second YAML document, where one is all that is read", name)
	}
	if err := r.read(document.Content[0]); err != nil {
		return nvlink.Topology{}, err
	}
	return r.topology, nil
}

// topologyReader reads one file.
type topologyReader struct {
	file     string
	topology nvlink.Topology
	// fields are those that were given, by name.
	fields map[string]*yaml.Node
}

func (r *topologyReader) fault(n *yaml.Node, field, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %s", r.file, n.Line, field, fmt.Sprintf(format, args...))
}

func (r *topologyReader) read(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return r.fault(n, "topology", "not a list of fields")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if r.fields[key.Value] != nil {
			return r.fault(key, key.Value, "given twice")
		}
		r.fields[key.Value] = value
		if err := r.field(key, value); err != nil {
			return err
		}
	}
	return r.check(n)
}

func (r *topologyReader) field(key, value *yaml.Node) (err error) {
	t := &r.topology
	switch key.Value {
	case "nvlink":
		t.Generation, err = r.number(key.Value, value, maxGeneration)
	case "trays":
		t.Trays, err = r.number(key.Value, value, maxTrays)
	case "gpus":
		t.GPUs, err = r.addresses(key.Value, value)
	case "baseboards":
		if value.Kind != yaml.SequenceNode {
			return r.fault(value, key.Value, "not a list of lists of addresses")
		}
		for _, board := range value.Content {
			gpus, err := r.addresses(key.Value, board)
			if err != nil {
				return err
			}
			t.Baseboards = append(t.Baseboards, gpus)
		}
	default:
		return r.fault(key, key.Value, "no such field; there are nvlink, gpus, baseboards and trays")
	}
	return err
}

func (r *topologyReader) number(field string, n *yaml.Node, most int) (int, error) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < 0 || v > most {
		return 0, r.fault(n, field, "%q is not a number from 0 to %d", n.Value, most)
	}
	return v, nil
}

func (r *topologyReader) addresses(field string, n *yaml.Node) ([]nvlink.Address, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, r.fault(n, field, "not a list of addresses")
	}
	if len(n.Content) > maxNodeGPUs {
		return nil, r.fault(n, field, "%d GPUs, more than %d", len(n.Content), maxNodeGPUs)
	}
	var as []nvlink.Address
	for _, item := range n.Content {
		pci, ok := xidparse.ParsePCI(item.Value)
		if item.Kind != yaml.ScalarNode || !ok {
			return nil, r.fault(item, field, "%q is not a PCI address, domain:bus:device in hex", item.Value)
		}
		if pci.Device > lastPCIDevice {
			return nil, r.fault(item, field, "%q names the device %#x of a bus, which has %#x at most", item.Value, pci.Device, lastPCIDevice)
		}
		a := nvlink.Address(pci)
		if slices.Contains(as, a) {
			return nil, r.fault(item, field, "%s is listed twice", pci)
		}
		as = append(as, a)
	}
	return as, nil
}

// check makes the fields agree: a baseboard's GPUs are the node's, and each is
// on one baseboard at most.
func (r *topologyReader) check(n *yaml.Node) error {
	t := &r.topology
	boards := slices.Concat(t.Baseboards...)
	if len(t.GPUs) == 0 {
		t.GPUs = slices.Clone(boards)
	}
	if len(t.GPUs) == 0 {
		return r.fault(n, "gpus", "missing")
	}
	for i, a := range boards {
		switch pci := xidparse.PCI(a); {
		case !slices.Contains(t.GPUs, a):
			return r.fault(r.fields["baseboards"], "baseboards", "%s is not among the gpus", pci)
		case slices.Contains(boards[:i], a):
			return r.fault(r.fields["baseboards"], "baseboards", "%s is on two of them", pci)
		}
	}
	if len(boards) > 0 && t.Generation == 0 {
		return r.fault(n, "nvlink", "missing or 0, but there are baseboards, which have NVSwitches")
	}
	return nil
}
