package pci

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// SlotRoot is where the kernel lists physical slots, by the firmware's tables.
const SlotRoot = "/sys/bus/pci/slots"

// Slots names the physical slots below root by the address of what sits in them.
// Many boards on a baseboard have none. A slot that cannot be read is left out.
func Slots(root string) (map[xidparse.PCI]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list PCI slots: %w", err)
	}
	slots := map[xidparse.PCI]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(root, e.Name(), "address"))
		if err != nil {
			continue
		}
		if at, ok := xidparse.ParsePCI(strings.TrimSpace(string(text))); ok {
			slots[at] = e.Name()
		}
	}
	return slots, nil
}
