package explain

import (
	"slices"
	"strings"

	"github.com/gpuhealthd/gpuhealthd/fault"
	"github.com/gpuhealthd/gpuhealthd/xidparse"
)

// Check is a command with which a person confirms a fault, and what to look at.
type Check struct {
	Command string `json:"command"`
	Look    string `json:"look"`
}

// Document is a page of NVIDIA's.
type Document struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// topic is what a fault is about; it picks the commands and the documents.
type topic uint8

const (
	aboutOther topic = iota
	aboutProgram
	aboutMemory
	aboutLink
	aboutSwitch
	aboutFabric
	aboutIMEX
	aboutBus
	aboutGSP
	aboutDriver
)

// topics are the codes that the catalogue's column of fault does not sort.
var topics = map[fault.Class]topic{
	fault.XID48: aboutMemory, fault.XID64: aboutMemory, fault.XID94: aboutMemory, fault.XID95: aboutMemory,
	fault.RemapPending: aboutMemory, fault.RemapFailed: aboutMemory, fault.XIDClass(92): aboutMemory,
	fault.XIDClass(171): aboutMemory, fault.XIDClass(172): aboutMemory,
	fault.XID79: aboutBus, fault.GPULost: aboutBus,
	fault.XID119: aboutGSP, fault.XID120: aboutGSP, fault.GSPTimeout: aboutGSP, fault.InitFailed: aboutGSP,
	fault.LinksDown: aboutLink, fault.NVLinkDegrading: aboutLink, fault.FabricUnhealthy: aboutFabric,
	fault.FabricManagerDead: aboutSwitch, fault.IMEXDown: aboutIMEX,
	fault.DriverHung: aboutGSP, fault.DriverMismatch: aboutDriver, fault.AgentBlind: aboutDriver,
}

func (s subject) topic() topic {
	if t, ok := topics[s.class]; ok {
		return t
	}
	if s.switched {
		return aboutSwitch
	}
	switch row, _ := xidparse.Lookup(s.code); row.Fault {
	case "application":
		return aboutProgram
	case "link", "peer":
		return aboutLink
	}
	return aboutOther
}

// gpuMark stands in a command for the GPU that it is about.
const gpuMark = "{gpu}"

var recoveryCheck = Check{"nvidia-smi --query-gpu=index,pci.bus_id,gpu_recovery_action --format=csv",
	"what the driver asks for now; it outranks every number"}

var lastXIDs = Check{"journalctl -k -b -o short-monotonic | grep -E 'NVRM: Xid|SXid|fallen off'",
	"what stands around it: the first line on a GPU is most often the cause of the others"}

var topicChecks = map[topic][]Check{
	aboutProgram: {
		{"compute-sanitizer PROGRAM", "whether the program itself reads or writes out of range"},
	},
	aboutMemory: {
		{"nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT -i " + gpuMark,
			"uncorrectable errors, a remap that is pending or has failed, the SRAM threshold"},
	},
	aboutLink: {
		{"nvidia-smi nvlink --status -i " + gpuMark, "links that are down or slow"},
		{"nvidia-smi nvlink --errorcounters -i " + gpuMark, "replay, recovery and CRC errors, link by link"},
		{"nvidia-smi topo -m", "which GPU or switch is at the far end"},
	},
	aboutSwitch: {
		{"systemctl status nvidia-fabricmanager", "whether the fabric manager runs, and its last words"},
		{"tail -n 50 /var/log/fabricmanager.log", "which switch and port it blames"},
		{"nvidia-smi nvlink --status", "which GPUs have lost links: one GPU points to that GPU, all to the switch"},
	},
	aboutFabric: {
		{"nvidia-smi -q -i " + gpuMark + " | grep -A 12 Fabric", "how far its registration is, with what status, in which clique, and its health"},
		{"nvidia-smi nvlink --status -i " + gpuMark, "whether its links are up: without them it cannot register"},
		{"systemctl status nvidia-fabricmanager", "on a node with NVSwitches of its own: who registers it; a tray of a rack has none"},
	},
	aboutIMEX: {
		{"nvidia-imex-ctl -q", "READY, where the host runs the daemon; where pods do, ask in the daemon's pod"},
		{"systemctl status nvidia-imex", "whether it runs, and its last words"},
		{"timeout 20 nvidia-imex-ctl -N", "which trays of the domain it does not reach; it can hang"},
	},
	aboutBus: {
		{"nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv", "whether the GPU is still listed; compare the count"},
		{"lspci -vv -s " + gpuMark, "\"rev ff\" or no device: gone from the bus"},
		{"ipmitool sel elist", "power, slot and thermal events at the same minute"},
	},
	aboutGSP: {
		{"timeout 20 nvidia-smi -q -i " + gpuMark, "whether the GPU answers; the call can hang for as long as the GSP does"},
		{"ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'", "processes stuck in the driver, which nothing can end but a reboot"},
	},
	aboutDriver: {
		{"cat /proc/driver/nvidia/version", "the version of the kernel module"},
		{"nvidia-smi -L", "whether the library agrees with it, and sees every GPU; ask on the host, not in a container"},
		{"ls -l /dev/nvidia*", "whether this agent has lost its devices"},
	},
}

// checks gives the commands for a subject, the specific ones first, with the
// diagnosis of the given level.
func (s subject) checks(diag int) []Check {
	if s.class == "" {
		return []Check{}
	}
	checks := slices.Clone(topicChecks[s.topic()])
	w, work := workloads[s.class]
	switch {
	case work:
		checks = slices.Clone(w.confirm)
	case slices.Contains([]topic{aboutProgram, aboutDriver, aboutIMEX}, s.topic()):
		checks = append(checks, lastXIDs)
	default:
		checks = append(checks, recoveryCheck, lastXIDs)
	}
	switch diag {
	case 2:
		checks = append(checks, Check{"dcgmi diag -r 2 -i INDEX", "the diagnosis that must pass; up to ten minutes, on an idle GPU only"})
	case 3:
		checks = append(checks, Check{"dcgmi diag -r 3 -i INDEX", "the diagnosis that must pass; up to 35 minutes, on an idle GPU only"})
	}
	gpu := "GPU"
	if s.event.HasPCI && !s.switched {
		gpu = s.event.PCI.String() + ".0"
	}
	for i := range checks {
		checks[i].Command = strings.ReplaceAll(checks[i].Command, gpuMark, gpu)
	}
	return checks
}

var (
	xidDocument    = Document{"XID errors", "https://docs.nvidia.com/deploy/xid-errors/index.html"}
	memoryDocument = Document{"GPU memory error management", "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html"}
	imexDocument   = Document{"IMEX service guide", "https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/index.html"}
	fabricDocument = Document{"Fabric manager user guide", "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html"}
	debugDocument  = Document{"GPU debug guidelines", "https://docs.nvidia.com/deploy/gpu-debug-guidelines/index.html"}
)

// documents gives the pages to read about a subject.
func (s subject) documents() []Document {
	ds := []Document{}
	if s.class == "" {
		return ds
	}
	if w, work := workloads[s.class]; work {
		return w.documents
	}
	if !s.switched {
		ds = append(ds, xidDocument)
	}
	switch s.topic() {
	case aboutMemory:
		ds = append(ds, memoryDocument)
	case aboutIMEX:
		ds = append(ds, imexDocument)
	case aboutLink, aboutSwitch, aboutFabric:
		ds = append(ds, fabricDocument)
	case aboutBus, aboutGSP, aboutDriver:
		ds = append(ds, debugDocument)
	}
	return ds
}
