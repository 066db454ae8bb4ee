package probe

import (
	"cmp"
	"fmt"
	"slices"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// maxIncidents is how many of a health check are passed on; with maxText it
// keeps a report within a line.
const maxIncidents = 32

// checkHealth reports what the engine says of its members' health. With no GPU
// it says that they are healthy.
func (s *session) checkHealth() error {
	worst := driver.DCGM_HEALTH_RESULT_PASS
	var incidents []driver.Incident
	for _, g := range []struct {
		handle driver.GroupHandle
		of     []uint
	}{{driver.GroupAllGPUs(), s.gpus}, {allSwitches(), s.switches}} {
		if len(g.of) == 0 {
			continue
		}
		var answer driver.HealthResponse
		failed := s.calls.do("dcgmHealthCheck", func() (err error) {
			answer, err = driver.HealthCheck(g.handle)
			return err
		})
		if failed != nil {
			return s.failed(failed)
		}
		worst = max(worst, answer.OverallHealth)
		incidents = append(incidents, answer.Incidents...)
	}
	h := s.health(worst, incidents)
	h.First, s.checked = !s.checked, true
	s.say(dcgm.HealthReport(h))
	return nil
}

// health puts a check's answer in our words.
func (s *session) health(worst driver.HealthResult, incidents []driver.Incident) dcgm.Health {
	h := dcgm.Health{Overall: resultName(worst), Incidents: make([]dcgm.Incident, 0, len(incidents))}
	if len(s.gpus) == 0 {
		h.Overall = dcgm.Unknown
	}
	slices.SortStableFunc(incidents, func(a, b driver.Incident) int { return cmp.Compare(b.Health, a.Health) })
	if len(incidents) > maxIncidents {
		h.More = len(incidents) - maxIncidents
		incidents = incidents[:maxIncidents]
	}
	for _, i := range incidents {
		h.Incidents = append(h.Incidents, s.incident(i))
	}
	return h
}

// Codes that only XIDs make: an XID, fallen off the bus, a contained error.
var xidCodes = []driver.HealthCheckErrorCode{101, 120, 131}

func (s *session) incident(i driver.Incident) dcgm.Incident {
	return dcgm.Incident{
		Entity:   s.uuids.entity(i.EntityInfo.EntityGroupId, i.EntityInfo.EntityId),
		System:   systemName(i.System),
		Code:     int(i.Error.Code),
		Result:   resultName(i.Health),
		Severity: severity(i.Error.Code),
		Sticky:   i.System == driver.DCGM_HEALTH_WATCH_ALL || slices.Contains(xidCodes, i.Error.Code),
		Text:     clean(i.Error.Message),
	}
}

func resultName(r driver.HealthResult) dcgm.Result {
	switch r {
	case driver.DCGM_HEALTH_RESULT_PASS:
		return dcgm.Pass
	case driver.DCGM_HEALTH_RESULT_WARN:
		return dcgm.Warn
	case driver.DCGM_HEALTH_RESULT_FAIL:
		return dcgm.Fail
	}
	return dcgm.Unknown
}

// severity asks the library's own table what a code calls for.
func severity(code driver.HealthCheckErrorCode) string {
	meta := driver.GetErrorMeta(code)
	if meta == nil {
		return "unknown"
	}
	switch meta.Severity {
	case driver.DCGM_ERROR_NONE:
		return "none"
	case driver.DCGM_ERROR_MONITOR:
		return "monitor"
	case driver.DCGM_ERROR_ISOLATE:
		return "isolate"
	case driver.DCGM_ERROR_TRIAGE:
		return "triage"
	case driver.DCGM_ERROR_CONFIG:
		return "config"
	case driver.DCGM_ERROR_RESET:
		return "reset"
	}
	return "unknown"
}

func systemName(system driver.HealthSystem) string {
	switch system {
	case driver.DCGM_HEALTH_WATCH_PCIE:
		return "pcie"
	case driver.DCGM_HEALTH_WATCH_NVLINK:
		return "nvlink"
	case driver.DCGM_HEALTH_WATCH_PMU:
		return "pmu"
	case driver.DCGM_HEALTH_WATCH_MCU:
		return "mcu"
	case driver.DCGM_HEALTH_WATCH_MEM:
		return "memory"
	case driver.DCGM_HEALTH_WATCH_SM:
		return "sm"
	case driver.DCGM_HEALTH_WATCH_INFOROM:
		return "inforom"
	case driver.DCGM_HEALTH_WATCH_THERMAL:
		return "thermal"
	case driver.DCGM_HEALTH_WATCH_POWER:
		return "power"
	case driver.DCGM_HEALTH_WATCH_DRIVER:
		return "driver"
	case driver.DCGM_HEALTH_WATCH_NVSWITCH_NONFATAL:
		return "switch-nonfatal"
	case driver.DCGM_HEALTH_WATCH_NVSWITCH_FATAL:
		return "switch-fatal"
	case driver.DCGM_HEALTH_WATCH_CONNECTX:
		return "connectx"
	case driver.DCGM_HEALTH_WATCH_IMEX:
		return "imex"
	case driver.DCGM_HEALTH_WATCH_ALL:
		return "any"
	}
	return fmt.Sprintf("%#x", uint(system))
}
