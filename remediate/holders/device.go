package holders

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// table tells GPUs by their device files.
type table struct {
	dev  string
	gpus map[int]string // by N of /dev/nvidiaN
	caps map[int]string // by N of /dev/nvidia-caps/nvidia-capN, of MIG instances
}

func newTable(options Options) (table, error) {
	t := table{dev: options.Dev, gpus: map[int]string{}, caps: map[int]string{}}
	for _, gpu := range options.GPUs {
		minor, err := minorOf(options.Proc, gpu)
		if err != nil {
			return t, fmt.Errorf("GPU %s: device file not known: %w", gpu.Name(), err)
		}
		t.gpus[minor] = gpu.Name()
		t.addCaps(options.Proc, minor)
	}
	return t, nil
}

// minorOf gives the number of a GPU's device file, as NVML or the driver's folder
// /proc/driver/nvidia/gpus/<address> has it.
func minorOf(proc string, gpu GPU) (int, error) {
	if gpu.Minor != nil {
		return *gpu.Minor, nil
	}
	// A GPU is function 0 of its address.
	return numberIn(filepath.Join(proc, "driver/nvidia/gpus", gpu.PCI.String()+".0", "information"), "Device Minor")
}

// addCaps adds the files that stand for the GPU and compute instances of a GPU in
// MIG mode. One that goes away meanwhile has no holder.
func (t table) addCaps(proc string, minor int) {
	instances := filepath.Join(proc, "driver/nvidia/capabilities", "gpu"+strconv.Itoa(minor), "mig", "gi*")
	for _, pattern := range []string{"access", "ci*/access"} {
		files, _ := filepath.Glob(filepath.Join(instances, pattern)) // the patterns are well formed
		for _, file := range files {
			if number, err := numberIn(file, "DeviceFileMinor"); err == nil {
				t.caps[number] = t.gpus[minor]
			}
		}
	}
}

// numberIn reads a line "key: number" of a file.
func numberIn(path, key string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != key {
			continue
		}
		number, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, key, err)
		}
		return number, nil
	}
	return 0, fmt.Errorf("%s: no %q", path, key)
}

// gpu tells whose device file an open file is. A file that was removed while it
// is open, as that of a container which is gone, counts as before.
func (t table) gpu(file string) (name string, ok bool) {
	folder, base := filepath.Split(strings.TrimSuffix(file, " (deleted)"))
	if number, is := numbered(base, "nvidia"); is && within(folder, t.dev) {
		name, ok = t.gpus[number]
	} else if number, is := numbered(base, "nvidia-cap"); is && within(folder, t.dev+"/nvidia-caps") {
		name, ok = t.caps[number]
	}
	return name, ok
}

// within says whether a folder is dev, seen from whatever root.
func within(folder, dev string) bool {
	return strings.HasSuffix(strings.TrimSuffix(folder, "/"), dev)
}

func numbered(base, prefix string) (number int, ok bool) {
	digits, ok := strings.CutPrefix(base, prefix)
	if !ok {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil && number >= 0
}
