package probe

import (
	"slices"
	"time"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// cached reads fields of a GPU from the engine's cache.
func (s *session) cached(gpu uint, fields []driver.Short) (values []driver.FieldValue_v1, failed *dcgm.Error) {
	failed = s.calls.do("dcgmEntityGetLatestValues", func() (err error) {
		values, err = driver.EntityGetLatestValues(driver.FE_GPU, gpu, fields)
		return err
	})
	return values, failed
}

// readIdentities learns the UUIDs. A blank one changes nothing.
func (s *session) readIdentities() error {
	for _, id := range s.gpus {
		values, failed := s.cached(id, []driver.Short{dcgm.FieldUUID})
		if failed != nil {
			if err := s.failed(failed); err != nil {
				return err
			}
			continue
		}
		if uuid := text(&values[0]); uuid != "" {
			s.uuids.learn(id, uuid)
		}
	}
	return nil
}

// readValues reports what the cache holds of every GPU.
func (s *session) readValues() error {
	v := dcgm.Values{GPUs: make([]dcgm.GPU, 0, len(s.gpus)), Dropped: driver.PolicyViolationDropCount()}
	for _, id := range s.gpus {
		g := s.readGPU(id)
		if g.Error != nil {
			if reason, ok := over(g.Error); ok {
				return s.absent(reason, g.Error)
			}
		}
		s.limit = max(s.limit, g.Fields[dcgm.FieldPowerLimit])
		v.GPUs = append(v.GPUs, g)
	}
	s.say(dcgm.ValuesReport(v))
	return nil
}

// readGPU reads one. That it is lost the engine tells in two ways, neither of
// them an error: by its status, and by listing it no more among the supported.
func (s *session) readGPU(id uint) dcgm.GPU {
	g := dcgm.GPU{Entity: s.uuids.entity(driver.FE_GPU, id)}
	_ = s.calls.do("dcgmGetGpuStatus", func() error {
		g.Status = int(driver.GetGPUStatus(id))
		return nil // go-dcgm makes a failure a status of 0
	})
	left := slices.Contains(s.capable, id) && !slices.Contains(s.supported, id)
	g.Lost = left || g.Status == int(driver.EntityStatusLost)

	var fields []driver.Short
	for _, w := range s.watches {
		fields = append(fields, w.fields...)
	}
	values, failed := s.cached(id, fields)
	if failed != nil {
		g.Error = failed
		return g
	}
	g.Fields = make(map[int]float64, len(values))
	for i := range values {
		s.take(&g, &values[i])
	}
	g.Blank = len(g.Fields) == 0
	return g
}

// take puts one value where it belongs, if it is one.
func (s *session) take(g *dcgm.GPU, v *driver.FieldValue_v1) {
	if v.FieldID == dcgm.FieldUUID {
		if uuid := text(v); uuid != "" {
			g.UUID = uuid
			s.uuids.learn(g.ID, uuid)
		}
		return
	}
	n, ok := number(v)
	if !ok {
		return
	}
	if v.FieldID != dcgm.FieldXID {
		g.Fields[int(v.FieldID)] = n
		return
	}
	if n > 0 {
		g.XID = &dcgm.XID{Code: int(n), At: time.UnixMicro(v.TS).UTC()}
	}
}
