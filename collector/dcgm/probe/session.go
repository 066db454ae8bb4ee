package probe

import (
	"context"
	"slices"
	"strings"
	"time"

	driver "github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/gpuhealthd/gpuhealthd/collector/dcgm"
)

// session is one connection, from its making to its end.
type session struct {
	cfg     Config
	calls   *calls
	reports chan<- dcgm.Report

	members
	watched bool    // the members have their watches
	watches []watch // of fields
	capable []uint  // supported when the watches were set: to leave that is to be lost
	uuids   uuids
	limit   float64 // the highest power limit, in watts; 0 is unknown
	listens bool    // for policy violations
	checked bool    // a health check was made
}

// members are what the engine lists, by its numbers, in order.
type members struct {
	gpus, switches, supported []uint
}

func newSession(cfg Config, reports chan<- dcgm.Report) *session {
	return &session{cfg: cfg, calls: &calls{}, reports: reports, uuids: uuids{of: map[uint]string{}}}
}

// run connects and polls until ctx is done. Its error is the end of the
// connection, and is reported.
func (s *session) run(ctx context.Context) error {
	failed := s.calls.do("dcgmConnect", func() error {
		return s.cfg.connect()
	})
	if failed != nil {
		reason := dcgm.NoEngine
		if strings.Contains(failed.Text, "libdcgm.so") { // go-dcgm tells by text alone
			reason = dcgm.NoLibrary
		}
		return s.absent(reason, failed)
	}
	if err := s.loop(ctx); err != nil {
		return err
	}
	_ = s.calls.do("dcgmDisconnect", driver.Shutdown) // so that the engine drops our watches at once
	return nil
}

// connect opens the library and the connection.
func (cfg Config) connect() (err error) {
	if cfg.Embedded {
		_, err = driver.Init(driver.Embedded)
		return err
	}
	path := strings.TrimPrefix(cfg.Address, "unix://")
	if strings.HasPrefix(path, "/") {
		_, err = driver.Init(driver.Standalone, path, "1")
	} else {
		_, err = driver.Init(driver.Standalone, path, "0")
	}
	return err
}

func (s *session) loop(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Period)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.poll(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// poll looks whom the engine lists, and reads values and health.
func (s *session) poll(ctx context.Context) error {
	m, err := s.list()
	if err != nil {
		return err
	}
	same := slices.Equal(m.gpus, s.gpus) && slices.Equal(m.switches, s.switches)
	s.members = m
	if !s.watched || !same {
		if err := s.watch(); err != nil {
			return err
		}
	}
	if err := s.readValues(); err != nil {
		return err
	}
	if err := s.listen(ctx); err != nil {
		return err
	}
	return s.checkHealth()
}

// list asks for the members. The first call is the one whose failure has a code.
func (s *session) list() (m members, err error) {
	steps := []struct {
		call string
		list *[]uint
		get  func() ([]uint, error)
	}{
		{"dcgmGetAllSupportedDevices", &m.supported, driver.GetSupportedDevices},
		{"dcgmGetEntityGroupEntities", &m.gpus, func() ([]uint, error) { return driver.GetEntityGroupEntities(driver.FE_GPU) }},
		{"dcgmGetEntityGroupEntities", &m.switches, func() ([]uint, error) { return driver.GetEntityGroupEntities(driver.FE_SWITCH) }},
	}
	for _, step := range steps {
		failed := s.calls.do(step.call, func() (err error) {
			*step.list, err = step.get()
			slices.Sort(*step.list)
			return err
		})
		if failed == nil {
			continue
		}
		reason, ok := over(failed)
		if !ok {
			reason = dcgm.EngineLost // without the list there is nothing to ask for
		}
		return m, s.absent(reason, failed)
	}
	return m, nil
}

func (s *session) say(r dcgm.Report) { s.reports <- r }

// absent reports the end of the connection and returns it.
func (s *session) absent(reason dcgm.Reason, failed *dcgm.Error) error {
	s.say(dcgm.AbsentReport(dcgm.Absent{Reason: reason, Error: *failed}))
	return failed
}

// failed reports a call that failed; where that is the end of the connection it
// returns it.
func (s *session) failed(failed *dcgm.Error) error {
	if reason, ok := over(failed); ok {
		return s.absent(reason, failed)
	}
	s.say(dcgm.FailedReport(*failed))
	return nil
}
