// Package pci reads which NVIDIA GPUs the host has on its PCI bus, whatever the
// driver says: it is the second witness when the driver counts fewer, or says that
// one has fallen off the bus.
//
// It reads sysfs and writes nothing. A GPU that is passed to a virtual machine
// (driver vfio-pci) is still there, and so is one without a driver.
package pci

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Root is where the kernel lists PCI devices.
const Root = "/sys/bus/pci/devices"

// From the PCI id database: NVIDIA, and the base class and subclass of display
// controllers that its GPUs have, with and without a video output.
const (
	vendorNVIDIA = 0x10de
	classVGA     = 0x0300
	class3D      = 0x0302
)

// Device is one GPU on the bus.
type Device struct {
	PCI xidparse.PCI
	// Driver is what the device is bound to, such as nvidia or vfio-pci; empty
	// is none.
	Driver string
	// Dead: the device is listed and does not answer. Reading its configuration
	// gives all ones, which lspci shows as "rev ff".
	Dead bool
}

// Scan lists the GPUs below root, ordered by address. One that cannot be read is
// an error, and the others are listed all the same; one that is removed meanwhile
// is left out.
func Scan(root string) ([]Device, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list PCI devices: %w", err)
	}
	var found []Device
	var failed []error
	for _, e := range entries { // sorted by name, which is the address
		d, ours, err := read(filepath.Join(root, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = append(failed, fmt.Errorf("PCI device %s: %w", e.Name(), err))
		case ours:
			found = append(found, d)
		}
	}
	return found, errors.Join(failed...)
}

// read reads one device; it is ours if it is a GPU of NVIDIA.
func read(dir string) (d Device, ours bool, err error) {
	vendor, err := number(dir, "vendor")
	if err != nil || vendor != vendorNVIDIA {
		return d, false, err
	}
	class, err := number(dir, "class")
	if err != nil {
		return d, false, err
	}
	// The last byte is the programming interface.
	if class >>= 8; class != classVGA && class != class3D {
		return d, false, nil
	}
	var ok bool
	if d.PCI, ok = xidparse.ParsePCI(filepath.Base(dir)); !ok {
		return d, false, errors.New("its name is no address")
	}
	if d.Driver, err = boundTo(dir); err != nil {
		return d, false, err
	}
	d.Dead, err = dead(dir)
	return d, err == nil, err
}

// number reads a file that holds 0x and a number in hex. The kernel kept it when
// it found the device: it is right of a dead one too.
func number(dir, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 0, 32)
	if err != nil {
		return 0, fmt.Errorf("file %s: %q is no number", name, text)
	}
	return n, nil
}

func boundTo(dir string) (string, error) {
	target, err := os.Readlink(filepath.Join(dir, "driver"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return filepath.Base(target), err
}

// Places in the configuration space, from the PCI specification.
const (
	vendorAt   = 0x00 // 2 bytes; ffff is no vendor's
	headerAt   = 0x0e // 1 byte; the lower seven bits are the header's type, 0 to 2
	headerSize = 0x40
)

// dead reads the configuration space from the device itself. From one that is not
// there any more the bus reads all ones.
func dead(dir string) (bool, error) {
	file, err := os.Open(filepath.Join(dir, "config"))
	if err != nil {
		return false, err
	}
	defer file.Close()
	var config [headerSize]byte
	if _, err := io.ReadFull(file, config[:]); err != nil {
		return false, fmt.Errorf("file config: %w", err)
	}
	vendor := binary.LittleEndian.Uint16(config[vendorAt:])
	return vendor == 0xffff || config[headerAt]&0x7f == 0x7f, nil
}
