package main

import (
	"fmt"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/sim/node"
)

func list(gpus []node.GPU) error {
	for _, g := range gpus {
		if err := reachable(g); err != nil {
			return err
		}
		fmt.Printf("GPU %d: %s (UUID: %s)\n", g.Index, g.Name, g.UUID)
	}
	return nil
}

// query prints a line for each GPU. The first that cannot be asked ends it.
func query(n *node.Node, gpus []node.GPU, fields []string) error {
	for _, g := range gpus {
		if err := reachable(g); err != nil {
			return err
		}
		var values []string
		for _, field := range fields {
			value, err := tell(n, g, field)
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		fmt.Println(strings.Join(values, ", "))
	}
	return nil
}

func tell(n *node.Node, g node.GPU, field string) (string, error) {
	switch field {
	case "index":
		return fmt.Sprint(g.Index), nil
	case "name":
		return g.Name, nil
	case "uuid":
		return g.UUID, nil
	case "pci.bus_id":
		return busID(g), nil
	case "persistence_mode":
		on, err := n.Persistence(g.UUID)
		return map[bool]string{false: "Disabled", true: "Enabled"}[on], err
	}
	return "", failure{badArgument, fmt.Sprintf("Field %q is not a valid field to query.", field)}
}

func setPersistence(n *node.Node, gpus []node.GPU, on bool) error {
	words := map[bool]string{false: "Disabled", true: "Enabled"}
	value := map[bool]string{false: "0", true: "1"}
	for _, g := range gpus {
		if err := reachable(g); err != nil {
			return err
		}
		was, err := n.Persistence(g.UUID)
		if err != nil {
			return err
		}
		if was == on {
			fmt.Printf("Persistence mode is already %s for GPU %s.\n", words[on], busID(g))
			continue
		}
		if err := n.Set(g.UUID, "persistence", value[on]); err != nil {
			return err
		}
		fmt.Printf("%s persistence mode for GPU %s.\n", words[on], busID(g))
	}
	fmt.Println("All done.")
	return nil
}
