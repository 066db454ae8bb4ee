package probe

import (
	"fmt"
	"math/rand/v2"
	"strings"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// watch is a set of fields that the engine reads for us. What is not watched
// has no value in its cache; and to read past the cache ends the engine for some
// fields, and fails the whole call for others.
type watch struct {
	name     string
	fields   []driver.Short
	handle   driver.FieldHandle
	optional bool // an engine may refuse it: too old, or another profiler is there
}

// plan gives the watches that are wanted.
func (cfg Config) plan() []watch {
	list := []watch{
		{name: "base", fields: []driver.Short{
			dcgm.FieldUUID, dcgm.FieldTemperature, dcgm.FieldPower, dcgm.FieldPowerLimit,
			dcgm.FieldPCIeReplays, dcgm.FieldUtilisation, dcgm.FieldXID,
			dcgm.FieldSingleBitVolatile, dcgm.FieldDoubleBitVolatile,
			dcgm.FieldSingleBitAggregate, dcgm.FieldDoubleBitAggregate, dcgm.FieldRetiredDoubleBit,
			dcgm.FieldRemapUncorrectable, dcgm.FieldRemapCorrectable, dcgm.FieldRemapFailed, dcgm.FieldRemapPending,
			dcgm.FieldNVLinkFlitErrors,
		}},
		{name: "recovery", fields: []driver.Short{dcgm.FieldRecoveryAction}, optional: true},
		{name: "imex", fields: []driver.Short{dcgm.FieldIMEXDaemon}, optional: true},
	}
	if cfg.Profiling {
		list = append(list, watch{name: "profiling", fields: []driver.Short{
			dcgm.FieldGraphicsActive, dcgm.FieldSMActive, dcgm.FieldTensorActive, dcgm.FieldMemoryActive,
		}, optional: true})
	}
	return list
}

// watch sets all watches on the members and says that we are up.
func (s *session) watch() error {
	s.capable = s.supported
	steps := []func() error{s.watchFields, func() error { return s.setHealth(driver.GroupAllGPUs(), s.gpus) },
		func() error { return s.setHealth(allSwitches(), s.switches) }}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := s.readIdentities(); err != nil {
		return err
	}
	s.watched = true
	up := dcgm.Up{Engine: s.version(), GPUs: make([]dcgm.Entity, 0, len(s.gpus)), Switches: len(s.switches)}
	for _, id := range s.gpus {
		up.GPUs = append(up.GPUs, s.uuids.entity(driver.FE_GPU, id))
	}
	s.say(dcgm.UpReport(up))
	return nil
}

// watchFields makes the sets of fields once, and watches them on every GPU that
// there is by now.
func (s *session) watchFields() error {
	if len(s.gpus) == 0 {
		return nil
	}
	if s.watches == nil {
		s.watches = s.cfg.plan()
	}
	kept := s.watches[:0]
	for _, w := range s.watches {
		failed := s.watchSet(&w)
		switch {
		case failed == nil:
			kept = append(kept, w)
		case w.optional:
			s.say(dcgm.FailedReport(*failed))
		default:
			return s.absent(dcgm.NotWatched, failed)
		}
	}
	s.watches = kept
	return nil
}

func (s *session) watchSet(w *watch) *dcgm.Error {
	if w.handle == (driver.FieldHandle{}) {
		// Names are one for all clients of an engine.
		name := fmt.Sprintf("gpuhealthd-%s-%x", w.name, rand.Uint64())
		failed := s.calls.do("dcgmFieldGroupCreate", func() (err error) {
			w.handle, err = driver.FieldGroupCreate(name, w.fields)
			return err
		})
		if failed != nil {
			return failed
		}
	}
	return s.calls.do("dcgmWatchFields", func() error {
		return driver.WatchFieldsWithGroupEx(w.handle, driver.GroupAllGPUs(), s.cfg.Period.Microseconds(), 0, 1)
	})
}

// setHealth turns every health watch on for a group that has members.
func (s *session) setHealth(group driver.GroupHandle, of []uint) error {
	if len(of) == 0 {
		return nil
	}
	failed := s.calls.do("dcgmHealthSet", func() error { return driver.HealthSet(group, driver.DCGM_HEALTH_WATCH_ALL) })
	if failed != nil {
		return s.absent(dcgm.NotWatched, failed)
	}
	return nil
}

// allSwitches is DCGM_GROUP_ALL_NVSWITCHES.
func allSwitches() (group driver.GroupHandle) {
	group.SetHandle(0x7ffffffe)
	return group
}

// version gives the engine's, empty where it does not tell.
func (s *session) version() string {
	var info driver.VersionInfo
	_ = s.calls.do("dcgmHostengineVersionInfo", func() (err error) {
		info, err = driver.GetHostengineVersionInfo()
		return err
	})
	for pair := range strings.SplitSeq(info.RawBuildInfoString, ";") {
		if version, ok := strings.CutPrefix(pair, "version:"); ok {
			return clean(version)
		}
	}
	return ""
}
