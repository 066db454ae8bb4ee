package probe

import (
	"sync"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// used are the functions that are looked up before they are called; never
// changed. One that only stands in for another is not among them.
var used = []string{
	"nvmlDeviceGetBoardPartNumber", "nvmlDeviceGetComputeInstanceId",
	"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetCurrPcieLinkGeneration",
	"nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetCurrentClocksEventReasons",
	"nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetGpuFabricInfoV",
	"nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMarginTemperature",
	"nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMaxPcieLinkGeneration",
	"nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetMemoryErrorCounter", "nvmlDeviceGetMemoryInfo",
	"nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetMigMode", "nvmlDeviceGetMinorNumber",
	"nvmlDeviceGetName", "nvmlDeviceGetNvLinkErrorCounter", "nvmlDeviceGetNvLinkRemoteDeviceType",
	"nvmlDeviceGetNvLinkRemotePciInfo", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkVersion",
	"nvmlDeviceGetPciInfo", "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetPlatformInfo",
	"nvmlDeviceGetPowerUsage", "nvmlDeviceGetRowRemapperHistogram", "nvmlDeviceGetSerial",
	"nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceGetTemperature",
	"nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetUUID", "nvmlDeviceGetUtilizationRates",
	"nvmlDeviceRegisterEvents", "nvmlEventSetCreate", "nvmlEventSetFree", "nvmlEventSetWait",
	"nvmlGpmMetricsGet", "nvmlGpmMigSampleGet", "nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc",
	"nvmlGpmSampleGet",
}

// symbols knows which functions the open library has. Calling one that it lacks
// would end the process.
type symbols struct {
	lib driver.ExtendedInterface

	mu    sync.Mutex
	known map[string]bool
}

func newSymbols(lib driver.Interface) *symbols {
	return &symbols{lib: lib.Extensions(), known: map[string]bool{}}
}

// lacking names those that the library does not have, in order.
func (s *symbols) lacking() (names []string) {
	for _, name := range used {
		if !s.has(name) {
			names = append(names, name)
		}
	}
	return names
}

func (s *symbols) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	has, asked := s.known[name]
	if !asked {
		has = s.lib.LookupSymbol(name) == nil
		s.known[name] = has
	}
	return has
}
