package pods

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/remediate/holders"
)

// GPU is a GPU with all the names that others have for it.
type GPU struct {
	holders.GPU
	// Index is NVML's; nil is unknown. Only a CDI specification names GPUs so.
	Index *int
	// Instances are the UUIDs of its MIG instances.
	Instances []string
}

var (
	// cdiIndex is a name of NVIDIA's CDI specification: 0 or gpu0, and 0:1 or mig0:1
	// for a MIG instance of it.
	cdiIndex = regexp.MustCompile(`^(?:gpu|mig)?([0-9]{1,4})(?::[0-9]+)?$`)
	// draMinor is a name that NVIDIA's DRA driver gives its devices: the number of
	// the device file, with the profile and place of a MIG instance.
	draMinor = regexp.MustCompile(`^gpu-([0-9]{1,4})(?:-mig-.+)?$`)
)

// inventory finds GPUs by the names of others. Each answer is a list of
// holders.GPU.Name, empty where the name is nobody's.
type inventory []GPU

// with adds the devices that are not in it.
func (i inventory) with(devices []fault.Device) inventory {
	i = slices.Clone(i)
	for _, d := range devices {
		if i.name(d) == "" {
			i = append(i, GPU{GPU: holders.GPU{Device: d}})
		}
	}
	return i
}

// name is that of a device, which one or the other may know without its UUID.
func (i inventory) name(d fault.Device) string {
	for _, gpu := range i {
		if gpu.UUID != "" && gpu.UUID == d.UUID || gpu.PCI == d.PCI && (gpu.UUID == "" || d.UUID == "") {
			return gpu.Name()
		}
	}
	return ""
}

func (i inventory) find(is func(GPU) bool) (names []string) {
	for _, gpu := range i {
		if is(gpu) {
			names = append(names, gpu.Name())
		}
	}
	return names
}

// byID takes a UUID, of a GPU or of a MIG instance; one of several shares of it,
// UUID::N; or a PCI address.
func (i inventory) byID(id string) []string {
	id, _, _ = strings.Cut(id, "::")
	return i.find(func(gpu GPU) bool {
		if gpu.UUID != "" && (id == gpu.UUID || strings.HasPrefix(id, "MIG-"+gpu.UUID+"/")) {
			return true // the latter is a MIG instance by the UUID of drivers before R470
		}
		return slices.Contains(gpu.Instances, id) || strings.HasPrefix(strings.ToLower(id), gpu.PCI.String()+".")
	})
}

// byCDI takes what stands behind the = of a CDI name.
func (i inventory) byCDI(name string) []string {
	if name == "all" {
		return i.find(func(GPU) bool { return true })
	}
	if m := cdiIndex.FindStringSubmatch(name); m != nil {
		return i.find(func(gpu GPU) bool { return numbered(gpu.Index, m[1]) })
	}
	return i.byID(name)
}

// byDRA takes the name of a device in its ResourceSlice.
func (i inventory) byDRA(device string) []string {
	m := draMinor.FindStringSubmatch(device)
	if m == nil {
		return nil
	}
	return i.find(func(gpu GPU) bool { return numbered(gpu.Minor, m[1]) })
}

func numbered(number *int, digits string) bool {
	return number != nil && strconv.Itoa(*number) == digits
}

// holders are some of the GPUs, by their names, as the scan of processes takes them.
func (i inventory) holders(some []string) (gpus []holders.GPU) {
	for _, gpu := range i {
		if slices.Contains(some, gpu.Name()) {
			gpus = append(gpus, gpu.GPU)
		}
	}
	return gpus
}
